import NIOSSL

/// Why TLS with a coordinator has failed, in words for people. The TLS library's own text names places in its source
/// code, and no remedy. Each description begins with "it" or "its", which is the program at the address.
enum TLSFailure: Hashable, Sendable, CustomStringConvertible {
  /// The program does not speak TLS.
  case noTLS
  /// Its certificate is not signed by a root of the fleet, has another name, or has ended.
  case notOfTheFleet
  /// It demands a client's certificate, and this client has none.
  case wantsCertificate
  /// It does not accept this client's certificate.
  case refusesCertificate
  /// The reason in the TLS library's words, such as `DECRYPTION_FAILED_OR_BAD_RECORD_MAC`.
  case other(String)

  /// - Returns: `nil` if the error is none of TLS.
  init?(_ error: any Error) {
    guard error is NIOSSLError || error is BoringSSLError else { return nil }
    self.init(words: "\(error)")
  }

  /// - Parameter words: the text of an error of the TLS library.
  init(words: String) {
    func has(_ reasons: String...) -> Bool { reasons.contains { words.contains($0) } }
    // An alert that the program sent has `ALERT` in its name (RFC 8446, section 6).
    if has("ALERT_CERTIFICATE_REQUIRED") {
      self = .wantsCertificate
    } else if has("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNEXPECTED_RECORD") {
      self = .noTLS
    } else if has("ALERT_UNKNOWN_CA", "ALERT_BAD_CERTIFICATE", "ALERT_CERTIFICATE", "ALERT_UNSUPPORTED_CERTIFICATE") {
      self = .refusesCertificate
    } else if has("CERTIFICATE_VERIFY_FAILED", "unableToValidateCertificate", "noCertificateToValidate") {
      self = .notOfTheFleet
    } else {
      self = .other(Self.reason(in: words))
    }
  }

  /// The first name of a reason in the library's text, without numbers and places in its source code.
  private static func reason(in words: String) -> String {
    let names = words.split { !($0.isASCII && ($0.isUppercase || $0.isNumber || $0 == "_")) }
    return names.first { name in name.contains("_") && !name.hasSuffix("_") && name.contains(where: \.isLetter) }.map(
      String.init) ?? "the handshake failed"
  }

  /// Whether a server has refused a client because of its certificate, or because it shows none.
  var isOfClientsCertificate: Bool { self == .notOfTheFleet || self == .other("PEER_DID_NOT_RETURN_A_CERTIFICATE") }

  var description: String {
    switch self {
    case .noTLS: "it does not speak TLS"
    case .notOfTheFleet: "its certificate is not signed by the fleet's root, is for another name, or has ended"
    case .wantsCertificate: "it asks for the certificate of a host that has joined"
    case .refusesCertificate: "it does not accept this host's certificate"
    case .other(let reason): "its TLS does not fit (\(reason))"
    }
  }
}
