package mirror

import (
	"bufio"
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

// record is one entry: a frame, or the note that all sets were whole.
type record struct {
	frame  *wire.Frame
	synced bool
}

// journal is a file of records: length, checksum, bytes. It is appended to and sometimes replaced as a whole.
type journal struct {
	dir  string
	file *os.File
	buf  *bufio.Writer
	size int64
}

const (
	headerSize = 8
	maxRecord  = 64 << 20
)

// openJournal replays the file and leaves it open for appending behind the last whole record.
func openJournal(dir string, replay func(record)) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mirror folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("mirror journal: %w", err)
	}
	j := &journal{dir: dir, file: f}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		rec, n, err := readRecord(r)
		if err != nil {
			break // the end, or a record that was being written when the machine stopped
		}
		j.size += n
		replay(rec)
	}
	if err := f.Truncate(j.size); err != nil {
		return nil, errors.Join(fmt.Errorf("cut the mirror journal: %w", err), f.Close())
	}
	if _, err := f.Seek(j.size, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("mirror journal: %w", err), f.Close())
	}
	j.buf = bufio.NewWriterSize(f, 1<<16)
	return j, nil
}

func readRecord(r io.Reader) (record, int64, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return record{}, 0, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n > maxRecord {
		return record{}, 0, fmt.Errorf("a record of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return record{}, 0, err
	}
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(head[4:]) {
		return record{}, 0, errors.New("checksum")
	}
	size := int64(headerSize) + int64(n)
	if n == 0 {
		return record{synced: true}, size, nil
	}
	f := &wire.Frame{}
	if err := proto.Unmarshal(body, f); err != nil {
		return record{}, 0, err
	}
	return record{frame: f}, size, nil
}

func (j *journal) write(rec record) error {
	n, err := writeRecord(j.buf, rec)
	j.size += n
	return err
}

func writeRecord(w io.Writer, rec record) (int64, error) {
	var body []byte
	if !rec.synced {
		var err error
		if body, err = proto.Marshal(rec.frame); err != nil {
			return 0, fmt.Errorf("encode for the mirror journal: %w", err)
		}
	}
	var head [headerSize]byte
	binary.BigEndian.PutUint32(head[:4], uint32(len(body)))
	binary.BigEndian.PutUint32(head[4:], crc32.ChecksumIEEE(body))
	if _, err := w.Write(head[:]); err != nil {
		return 0, fmt.Errorf("write the mirror journal: %w", err)
	}
	if _, err := w.Write(body); err != nil {
		return 0, fmt.Errorf("write the mirror journal: %w", err)
	}
	return int64(headerSize + len(body)), nil
}

func (j *journal) flush() error {
	if err := j.buf.Flush(); err != nil {
		// A full disk must not stop the agent; the next start fetches what is missing.
		j.buf.Reset(j.file)
		return fmt.Errorf("write the mirror journal: %w", err)
	}
	return nil
}

// replace writes a new file of the records and puts it in the place of the old one in one step.
func (j *journal) replace(records []record) error {
	path := filepath.Join(j.dir, fileName)
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("mirror journal: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	var size int64
	for _, rec := range records {
		n, err := writeRecord(w, rec)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		size += n
	}
	err = errors.Join(w.Flush(), f.Sync())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("mirror journal: %w", err), f.Close())
	}
	old := j.file
	j.file, j.size = f, size
	j.buf = bufio.NewWriterSize(f, 1<<16)
	return old.Close()
}

func (j *journal) close() error { return errors.Join(j.buf.Flush(), j.file.Sync(), j.file.Close()) }
