package main

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"isospin": main})
}

// TestScripts runs the scenarios in testdata/script against the command as it is built.
func TestScripts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is taken while the scripts run
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TAKEN", l.Addr().String())
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// oneline FILE checks that a file holds exactly one line, and no sign of a crash.
			"oneline": func(ts *testscript.TestScript, _ bool, args []string) {
				text := ts.ReadFile(args[0])
				if strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") || strings.Contains(text, "panic") {
					ts.Fatalf("not one line: %q", text)
				}
			},
			// ready FILE waits until the file holds the line that says that the API is there.
			"ready": func(ts *testscript.TestScript, _ bool, args []string) {
				path := ts.MkAbs(args[0])
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for range 2000 {
					raw, err := os.ReadFile(path)
					if err == nil && strings.Contains(string(raw), "the API is at") {
						return
					}
					<-tick.C
				}
				ts.Fatalf("%s never said that the API is there", args[0])
			},
		},
	})
}
