// Command apibench loads a Networking v2.0 API with the calls that a cloud makes most and prints a line of JSON
// for each phase: operations a second and how long they took. It speaks plain HTTP and trusts nothing about the
// server, so that two servers can be measured with it in turn on one machine (tools/bench.sh). Its exit status
// is 1 when any call failed.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	b := &bench{out: os.Stdout, trouble: os.Stderr,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: 5 * time.Minute}}
	flag.StringVar(&b.url, "url", "http://127.0.0.1:9696", "root of the API, without /v2.0")
	flag.StringVar(&b.token, "token", "", "X-Auth-Token; empty for a server without authentication, which gets X-Project-Id and X-Roles")
	flag.StringVar(&b.project, "project", "0123456789abcdef0123456789abcdef", "project that owns what is made")
	flag.IntVar(&b.networks, "networks", 50, "networks to make, each with one IPv4 subnet")
	flag.IntVar(&b.ports, "ports", 2000, "ports to make, spread over the networks")
	flag.IntVar(&b.others, "others", 100, "security groups, rules, routers and floating IPs to make, each; 0 for none")
	flag.IntVar(&b.inFlight, "c", 8, "requests in flight")
	flag.IntVar(&b.lists, "lists", 20, "how often each list is read")
	flag.StringVar(&b.host, "host", "", "binding:host_id of every port; empty for unbound ports")
	flag.BoolVar(&b.keep, "keep", false, "leave what was made")
	grow := flag.String("sizes", "", "instead: measure lists at these numbers of ports, such as 1000,10000,100000 (a server without quotas)")
	flag.Parse()
	if b.networks < 1 || b.ports < 1 || b.inFlight < 1 || b.lists < 0 || b.others < 0 {
		fmt.Fprintln(os.Stderr, "apibench: -networks, -ports and -c are at least 1")
		os.Exit(2)
	}
	if *grow == "" {
		b.run()
	} else {
		b.sizes(numbers(*grow))
	}
	if b.failed > 0 {
		fmt.Fprintf(os.Stderr, "apibench: %d calls failed\n", b.failed)
		os.Exit(1)
	}
}

// numbers reads the list of -sizes.
func numbers(text string) []int {
	var out []int
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			fmt.Fprintln(os.Stderr, "apibench: -sizes is a list of numbers")
			os.Exit(2)
		}
		out = append(out, n)
	}
	return out
}
