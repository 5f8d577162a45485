package servicetype

import "testing"

func TestByDriver(t *testing.T) {
	p := New(Routers()...)
	for _, x := range Routers() {
		if got, ok := p.ByDriver(x.Driver); !ok || got != x {
			t.Errorf("%s: %v %v", x.Driver, got, ok)
		}
	}
	if got, ok := p.ByDriver(""); ok {
		t.Errorf("no driver is %v's", got)
	}
}

func TestList(t *testing.T) {
	rows, err := New(Routers()...).List(t.Context(), nil, nil)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got := string(rows[3].Body); got != `{"service_type":"L3_ROUTER_NAT","name":"single_node","default":false}` {
		t.Error(got)
	}
}
