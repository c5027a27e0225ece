extension StringProtocol {
  /// Whether this text is the name or the address of the loopback interface, which other machines cannot reach: an
  /// address in 127.0.0.0/8, `::1` without brackets, or `localhost`.
  package var isLoopbackHost: Bool {
    if self == "localhost" || self == "::1" { return true }
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy(\.isOctet)
  }

  /// Whether this text is a number from 0 to 255 in decimal digits, without a sign and without leading zeros. Some
  /// programs read a number with a leading zero as octal.
  private var isOctet: Bool {
    utf8.allSatisfy { (0x30...0x39).contains($0) } && (count == 1 || first != "0") && UInt8(self) != nil
  }
}
