import Testing

/// Tests on the real binaries. They run one after the other, because each starts several processes.
@Suite(.serialized)
enum EndToEnd {}
