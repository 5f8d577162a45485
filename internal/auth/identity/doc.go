// Package identity is the built-in identity for laptops, labs and CI: the part of Keystone's v3 API that the
// usual clients need, served by the same process as the networking API, and an auth.Authenticator that
// validates its tokens without leaving the process. assemble builds it when authentication is "dev". It is
// no replacement for Keystone: it has no groups, no federation and no trusts, and it never judges
// networking requests.
//
// Tokens are signed, not stored: a token names the user, the scope and its times, and carries an HMAC made
// with a key that the Backend keeps. So all servers that share a Backend know each other's tokens, and
// nothing that could be stolen lies on disk. What must be kept is the list of tokens revoked before their
// time. Roles are not in the token: they are read from the present assignments, and a change of any user,
// project or assignment takes effect at once. Passwords are bcrypt hashes; a verified one is remembered in
// memory as a keyed digest, so that many logins a second do not cost one bcrypt each.
//
// All state is one Snapshot, immutable once published; readers never lock. A change copies it, saves it with
// compare-and-set on its revision, and publishes the copy.
package identity
