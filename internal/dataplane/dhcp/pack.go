package dhcp

// pack writes the collected options into m, the message as long as the client can take it, and returns the length used.
// What does not fit behind the header goes into its file and sname fields if they are free (RFC 2132, option 52); what
// fits nowhere is left out, the relay's option first of all kept.
func (r *reply) pack(m []byte) (length int, trimmed bool) {
	area := m[optionsAt:]
	need := 1 // the end mark
	for i := range r.fields {
		need += wireLength(r.fields[i].data)
	}
	if need <= len(area) {
		n := 0
		for i := range r.fields {
			n += putOption(area[n:], r.fields[i])
		}
		area[n] = optEnd
		return optionsAt + n + 1, false
	}
	return r.overload(m)
}

// overload packs more than one area's worth of options, in their order, each where it still fits.
func (r *reply) overload(m []byte) (length int, trimmed bool) {
	const mark = 3 // option 52 itself
	main := m[optionsAt:]
	spare := [...]struct {
		area []byte
		bit  byte
		used int
	}{{area: m[fileAt : fileAt+fileLen], bit: 1}, {area: m[snameAt : snameAt+snameLen], bit: 2}}
	room := len(main) - 1 - mark
	for i := range r.fields {
		if f := r.fields[i]; f.code == optRelay {
			room -= wireLength(f.data)
		}
	}
	n, overloaded := 0, byte(0)
	free := [2]bool{spare[0].area[0] == 0, spare[1].area[0] == 0}
next:
	for _, f := range r.fields {
		size := wireLength(f.data)
		if f.code == optRelay {
			continue
		}
		if size <= room {
			n += putOption(main[n:], f)
			room -= size
			continue
		}
		for j := range spare {
			a := &spare[j]
			if free[j] && a.used+size+1 <= len(a.area) {
				a.used += putOption(a.area[a.used:], f)
				a.area[a.used] = optEnd
				overloaded |= a.bit
				continue next
			}
		}
		trimmed = true
	}
	if overloaded != 0 {
		n += putOption(main[n:], field{code: optOverload, data: []byte{overloaded}})
	}
	for _, f := range r.fields {
		if f.code == optRelay && n+wireLength(f.data)+1 <= len(main) {
			n += putOption(main[n:], f)
		}
	}
	main[n] = optEnd
	return optionsAt + n + 1, trimmed
}

// wireLength is an option's length with its heads: one for every 255 bytes (RFC 3396).
func wireLength(data []byte) int { return len(data) + 2*max(1, (len(data)+254)/255) }

func putOption(b []byte, f field) int {
	n, data := 0, f.data
	for {
		part := data[:min(len(data), 255)]
		b[n], b[n+1] = f.code, byte(len(part))
		n += 2 + copy(b[n+2:], part)
		if data = data[len(part):]; len(data) == 0 {
			return n
		}
	}
}
