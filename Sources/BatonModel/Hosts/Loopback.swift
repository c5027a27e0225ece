extension StringProtocol {
  /// Whether a host's name or address, without brackets, is 127.0.0.0/8, ::1 or `localhost`: what other machines cannot
  /// reach.
  package var isLoopbackHost: Bool {
    if self == "localhost" || self == "::1" { return true }
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
