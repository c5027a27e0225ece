extension StringProtocol {
  /// Whether a host's name or address, without brackets, is 127.0.0.0/8, ::1 or `localhost`: what other machines cannot
  /// reach.
  package var isLoopbackHost: Bool {
    if self == "localhost" || self == "::1" { return true }
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy(\.isOctet)
  }

  /// 0 to 255 in decimal digits, without a sign or leading zeros, which other readers take for octal.
  private var isOctet: Bool {
    utf8.allSatisfy { (0x30...0x39).contains($0) } && (count == 1 || first != "0") && UInt8(self) != nil
  }
}
