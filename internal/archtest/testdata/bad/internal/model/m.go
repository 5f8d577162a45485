// Package model imports upwards.
package model

import _ "isospin/internal/telemetry"
