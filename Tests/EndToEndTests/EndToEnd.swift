import Testing

/// Tests on the real binaries, one after the other: each starts several processes, and this machine has few cores.
@Suite(.serialized)
enum EndToEnd {}
