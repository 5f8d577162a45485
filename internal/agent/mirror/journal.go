package mirror

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"isospin/internal/wire"
)

// fileName is the journal's file below the mirror's folder.
const fileName = "mirror.journal"

// magic begins the file; the last byte is the version of the format. One byte more tells how the journal stands.
const (
	magic    = "isomirr\x01"
	current  = 'c' // all that was applied is in the file or in its buffer
	behind   = 'b' // something could not be written: what the file holds was true once
	headSize = int64(len(magic)) + 1
)

// Types of records. A zero is none of them, so that a file that ends in zeros, as after a power failure, holds no record there.
const (
	recordFrame  = 'f'
	recordSynced = 's'
)

// Shape of a record: length of type and body, checksum of both, type, body.
const (
	recordHead = 8
	maxRecord  = 64 << 20
)

// journal is a file of records. It is appended to and sometimes replaced as a whole. A write that fails breaks it until it is
// replaced: nothing is ever written behind a gap.
type journal struct {
	dir  string
	file *os.File
	buf  *bufio.Writer
	size int64
	err  error // why it is broken
}

// replayed is what a journal's file held.
type replayed struct {
	// lost says that the file does not hold all that was applied once.
	lost bool
}

// openJournal replays the file and leaves it open for appending behind the last whole record.
func openJournal(dir string, frame func(*wire.Frame), synced func()) (*journal, replayed, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, replayed{}, fmt.Errorf("mirror folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, replayed{}, fmt.Errorf("mirror journal: %w", err)
	}
	j := &journal{dir: dir, file: f}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, replayed{}, errors.Join(fmt.Errorf("mirror journal: %w", err), f.Close())
	}
	var out replayed
	if end > 0 {
		whole := j.replay(bufio.NewReaderSize(f, 1<<16), frame, synced)
		out.lost = !whole || j.size != end
	}
	j.settle(end)
	return j, out, nil
}

// replay reads to the end, or to a record that was being written when the machine stopped.
func (j *journal) replay(r io.Reader, frame func(*wire.Frame), synced func()) (whole bool) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:len(magic)]) != magic {
		return false
	}
	j.size = headSize
	for {
		kind, body, err := readRecord(r)
		if err != nil {
			return head[len(magic)] == current
		}
		switch kind {
		case recordSynced:
			synced()
		case recordFrame:
			f := &wire.Frame{}
			if proto.Unmarshal(body, f) != nil {
				return false
			}
			frame(f)
		default:
			return false
		}
		j.size += recordHead + 1 + int64(len(body))
	}
}

func readRecord(r io.Reader) (kind byte, body []byte, err error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n == 0 || n > maxRecord {
		return 0, nil, fmt.Errorf("a record of %d bytes", n)
	}
	var b bytes.Buffer // grows with what is there, not with what a damaged head says
	if got, err := io.Copy(&b, io.LimitReader(r, int64(n))); err != nil || got != int64(n) {
		return 0, nil, io.ErrUnexpectedEOF
	}
	if crc32.ChecksumIEEE(b.Bytes()) != binary.BigEndian.Uint32(head[4:]) {
		return 0, nil, errors.New("checksum")
	}
	return b.Bytes()[0], b.Bytes()[1:], nil
}

// settle makes the file end behind the last whole record, and a new one begin with its head.
func (j *journal) settle(end int64) {
	j.buf = bufio.NewWriterSize(j.file, 1<<16)
	if j.size == 0 {
		j.size = headSize
		if err := j.file.Truncate(0); err != nil {
			j.broke(err)
			return
		}
		if _, err := j.file.WriteAt([]byte(magic+string(byte(current))), 0); err != nil {
			j.broke(err)
			return
		}
	} else if j.size != end {
		if err := j.file.Truncate(j.size); err != nil {
			j.broke(err)
			return
		}
	}
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		j.broke(err)
	}
}

// broke notes that the file does not follow any more. The mark takes no room, so that it can be made on a full disk.
func (j *journal) broke(err error) {
	if j.err != nil {
		return
	}
	j.err = fmt.Errorf("write the mirror journal: %w", err)
	_, _ = j.file.WriteAt([]byte{behind}, int64(len(magic))) // without it the next start may trust too much; there is no better place to say it
}

func (j *journal) frame(f *wire.Frame) {
	body, err := proto.Marshal(f)
	if err != nil {
		j.broke(err)
		return
	}
	j.write(recordFrame, body)
}

func (j *journal) write(kind byte, body []byte) {
	if j.err != nil {
		return
	}
	n, err := writeRecord(j.buf, kind, body)
	j.size += n
	if err != nil {
		j.broke(err)
	}
}

func writeRecord(w io.Writer, kind byte, body []byte) (int64, error) {
	if len(body)+1 > maxRecord {
		return 0, fmt.Errorf("a record of %d bytes", len(body))
	}
	head := make([]byte, recordHead, recordHead+1)
	binary.BigEndian.PutUint32(head, uint32(len(body)+1))
	sum := crc32.Update(crc32.ChecksumIEEE([]byte{kind}), crc32.IEEETable, body)
	binary.BigEndian.PutUint32(head[4:], sum)
	if _, err := w.Write(append(head, kind)); err != nil {
		return 0, err
	}
	if _, err := w.Write(body); err != nil {
		return 0, err
	}
	return recordHead + 1 + int64(len(body)), nil
}

func (j *journal) flush() error {
	if j.err == nil {
		if err := j.buf.Flush(); err != nil {
			j.broke(err)
		}
	}
	return j.err
}

// replace writes a new file and puts it in the place of the old one in one step. fill calls its argument for each record.
func (j *journal) replace(fill func(put func(kind byte, body []byte) error) error) error {
	path := filepath.Join(j.dir, fileName)
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("mirror journal: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	size := headSize
	_, err = w.WriteString(magic + string(byte(current)))
	if err == nil {
		err = fill(func(kind byte, body []byte) error {
			n, err := writeRecord(w, kind, body)
			size += n
			return err
		})
	}
	if err == nil {
		err = errors.Join(w.Flush(), f.Sync())
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new") // it may be what fills the disk
		return errors.Join(fmt.Errorf("mirror journal: %w", err), f.Close())
	}
	if d, err := os.Open(j.dir); err == nil {
		_ = d.Sync() // best effort: without it a power failure may bring the old file back, which was true once
		_ = d.Close()
	}
	old := j.file
	j.file, j.size, j.err = f, size, nil
	j.buf = bufio.NewWriterSize(f, 1<<16)
	_ = old.Close() // nothing of it is needed any more
	return nil
}

func (j *journal) close() error {
	return errors.Join(j.flush(), j.file.Sync(), j.file.Close())
}
