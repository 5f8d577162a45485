// Package telemetry is fine.
package telemetry
