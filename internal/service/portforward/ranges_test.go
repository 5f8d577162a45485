package portforward

import (
	"testing"

	"isospin/internal/fault"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"80": "80:80", "80:90": "80:90", "1:65535": "1:65535", "0": "", "65536": "", "90:80": "", "": "", ":": "", "80:": "", "a": "", "1:2:3": "", "80:65536": "",
	} {
		s, ok := parse(text)
		if ok != (want != "") || ok && s.String() != want {
			t.Errorf("%q: %v, %v", text, s, ok)
		}
	}
}

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		a, b span
		want bool
	}{
		{span{80, 80}, span{80, 80}, true},
		{span{80, 80}, span{81, 81}, false},
		{span{80, 90}, span{90, 100}, true},
		{span{80, 90}, span{91, 100}, false},
		{span{80, 90}, span{84, 85}, true},
		{span{1, 65535}, span{7, 7}, true},
	} {
		if c.a.overlaps(c.b) != c.want || c.b.overlaps(c.a) != c.want {
			t.Errorf("%v and %v: want %v", c.a, c.b, c.want)
		}
	}
}

func TestSettle(t *testing.T) {
	port := func(n int64) *int64 { return &n }
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		port *int64
		text *string
		cur  span
		want span
		bad  bool
	}{
		"nothing":         {},
		"stays":           {cur: span{5, 7}, want: span{5, 7}},
		"a number":        {port: port(80), cur: span{5, 7}, want: span{80, 80}},
		"a range":         {text: text("80:82"), cur: span{5, 7}, want: span{80, 82}},
		"both agree":      {port: port(80), text: text("80:80"), want: span{80, 80}},
		"both agree, too": {port: port(80), text: text("80"), want: span{80, 80}},
		"both differ":     {port: port(80), text: text("80:81"), bad: true},
		"backwards":       {text: text("82:80"), bad: true},
	} {
		got, err := settle("external", c.port, c.text, c.cur)
		if (err != nil) != c.bad || err == nil && got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err != nil && fault.Of(err).Name != "BadRequest" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRelate(t *testing.T) {
	for name, c := range map[string]struct {
		outside, inside span
		ok              bool
	}{
		"one to one":           {one(80), one(8080), true},
		"as many":              {span{80, 89}, span{100, 109}, true},
		"many to one":          {span{80, 89}, one(100), true},
		"one to many":          {one(80), span{100, 109}, false},
		"different sizes":      {span{80, 89}, span{100, 108}, false},
		"no port outside":      {span{}, one(1), false},
		"no port inside":       {one(1), span{}, false},
		"neither":              {span{}, span{}, false},
		"all ports, as many":   {span{1, 65535}, span{1, 65535}, true},
		"all ports to one":     {span{1, 65535}, one(22), true},
		"fewer inside by one":  {span{1, 3}, span{1, 2}, false},
		"more inside than out": {span{1, 2}, span{1, 3}, false},
	} {
		if err := relate(c.outside, c.inside); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
