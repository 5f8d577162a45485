package flavors

import (
	"encoding/json"
	"strings"
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service/servicetype"
)

func TestMetainfo(t *testing.T) {
	long := `"` + strings.Repeat("é", maxMetainfo) + `"`
	for in, want := range map[string]string{
		``: `""`, `""`: `""`, `"a\"b"`: `"a\"b"`, `null`: `null`, `7`: `"7"`, `true`: `"true"`, `-1.5`: `"-1.5"`,
		`{}`: "InvalidInput", `["a"]`: "InvalidInput", long: long, `"` + strings.Repeat("x", maxMetainfo+1) + `"`: "InvalidInput",
		strings.Repeat("1", maxMetainfo+1): "InvalidInput",
	} {
		got, err := plainText(json.RawMessage(in))
		if err != nil {
			got = json.RawMessage(fault.Of(err).Name)
		}
		if string(got) != want {
			t.Errorf("%.40s: %.40s, want %.40s", in, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	p := profiles{New(Config{Providers: servicetype.New(servicetype.Routers()...)})}
	yes := true
	for name, x := range map[string]struct {
		profile model.ServiceProfile
		want    string
	}{
		"a driver":          {model.ServiceProfile{Enabled: &yes, Driver: servicetype.Routers()[0].Driver}, ""},
		"metainfo":          {model.ServiceProfile{Enabled: &yes, Metainfo: json.RawMessage(`"x"`)}, ""},
		"neither":           {model.ServiceProfile{Enabled: &yes}, "ServiceProfileEmpty"},
		"null":              {model.ServiceProfile{Enabled: &yes, Metainfo: json.RawMessage(`null`)}, "ServiceProfileEmpty"},
		"an unknown driver": {model.ServiceProfile{Enabled: &yes, Driver: "x", Metainfo: json.RawMessage(`"x"`)}, "ServiceProfileDriverNotFound"},
		"neither on or off": {model.ServiceProfile{Metainfo: json.RawMessage(`"x"`)}, "InvalidInput"},
	} {
		got := ""
		if err := p.judge(&x.profile); err != nil {
			got = fault.Of(err).Name
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
