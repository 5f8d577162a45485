package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Namespace starts every name of Isospin's own metrics: a metric made as "api_requests_total" is shown as
// isospin_api_requests_total.
const Namespace = "isospin"

// Registry holds the metrics of a process. assemble makes one and passes it to constructors, which make their
// metrics of it once; to make one twice, or under a name that Prometheus does not allow, is an error of the
// program and panics. Labels are of few values (a method, a kind, an outcome), never a resource's ID.
type Registry struct {
	own *prometheus.Registry
	reg prometheus.Registerer
}

// NewRegistry makes a registry that also shows the Go runtime and the process.
func NewRegistry() *Registry {
	own := prometheus.NewRegistry()
	own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Registry{own: own, reg: prometheus.WrapRegistererWithPrefix(Namespace+"_", own)}
}

// Counter is a number that only grows, for each combination of its labels' values.
type Counter struct{ vec *prometheus.CounterVec }

// Counter makes a counter; its name ends in _total.
func (r *Registry) Counter(name, help string, labels ...string) Counter {
	c := Counter{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)}
	r.reg.MustRegister(c.vec)
	if len(labels) == 0 {
		c.vec.WithLabelValues() // shown as 0 from the start
	}
	return c
}

// Add raises the counter by n, which is not negative. The values are those of the labels, in their order.
func (c Counter) Add(n float64, values ...string) { c.vec.WithLabelValues(values...).Add(n) }

// Inc raises the counter by one.
func (c Counter) Inc(values ...string) { c.vec.WithLabelValues(values...).Inc() }

// With is the counter at fixed labels: for paths where looking the labels up costs too much.
func (c Counter) With(values ...string) func(n float64) { return c.vec.WithLabelValues(values...).Add }

// Gauge is a number that rises and falls.
type Gauge struct{ vec *prometheus.GaugeVec }

// Gauge makes a gauge.
func (r *Registry) Gauge(name, help string, labels ...string) Gauge {
	g := Gauge{prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)}
	r.reg.MustRegister(g.vec)
	if len(labels) == 0 {
		g.vec.WithLabelValues()
	}
	return g
}

// Set makes the gauge n.
func (g Gauge) Set(n float64, values ...string) { g.vec.WithLabelValues(values...).Set(n) }

// Add changes the gauge by n.
func (g Gauge) Add(n float64, values ...string) { g.vec.WithLabelValues(values...).Add(n) }

// Forget drops the gauge at these labels, when what it measured is no more.
func (g Gauge) Forget(values ...string) { g.vec.DeleteLabelValues(values...) }

// GaugeFunc makes a gauge that asks read whenever the metrics are read; read must be quick and safe for
// concurrent use.
func (r *Registry) GaugeFunc(name, help string, read func() float64) {
	r.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Histogram counts observations by size.
type Histogram struct{ vec *prometheus.HistogramVec }

// Histogram makes a histogram with the upper bounds of its buckets, in growing order; of none, those of Seconds.
// Names end in the unit, such as _seconds.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) Histogram {
	if len(bounds) == 0 {
		bounds = Seconds()
	}
	h := Histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)}
	r.reg.MustRegister(h.vec)
	return h
}

// Seconds is bounds for durations from a tenth of a millisecond to ten seconds.
func Seconds() []float64 {
	return []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// Observe counts one observation.
func (h Histogram) Observe(x float64, values ...string) { h.vec.WithLabelValues(values...).Observe(x) }

// With is the histogram at fixed labels.
func (h Histogram) With(values ...string) func(x float64) {
	return h.vec.WithLabelValues(values...).Observe
}

// handler shows the metrics in the format that the caller asks for.
func (r *Registry) handler() http.Handler {
	return promhttp.HandlerFor(r.own, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}
