package conformance

import "isospin/internal/service/ml2"

// drivers are the mechanism drivers of servers that tests start as processes.
func drivers() []ml2.MechanismDriver { return nil }
