// Package ml2 is the core plugin: networks with their segments, subnets, ports and their bindings, with the three
// parts of Neutron's ML2. TypeManager reserves segments through type drivers, MechanismManager binds ports
// through mechanism drivers, ExtensionManager lets extension drivers add attributes. assemble builds it; rest calls its
// controllers. It never talks to a host: what hosts need follows from the changes that its transactions declare.
package ml2
