import Testing

@testable import BatonWire

/// What people are told when TLS fails: no text of the TLS library, which names places in its source code.
@Suite struct TLSFailureTests {
  private static func words(_ reason: String) -> String {
    "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:"
      + "\(reason) at /build/.build/checkouts/swift-nio-ssl/Sources/CNIOBoringSSL/ssl/handshake.cc:393]))"
  }

  private static let cases: [(reason: String, failure: TLSFailure)] = [
    ("TLSV1_ALERT_CERTIFICATE_REQUIRED", .wantsCertificate), ("WRONG_VERSION_NUMBER", .noTLS), ("HTTP_REQUEST", .noTLS),
    ("TLSV1_ALERT_UNKNOWN_CA", .refusesCertificate), ("SSLV3_ALERT_CERTIFICATE_EXPIRED", .refusesCertificate),
    ("SSLV3_ALERT_BAD_CERTIFICATE", .refusesCertificate), ("SSLV3_ALERT_CERTIFICATE_REVOKED", .refusesCertificate),
    ("CERTIFICATE_VERIFY_FAILED", .notOfTheFleet),
    ("TLSV1_ALERT_PROTOCOL_VERSION", .other("TLSV1_ALERT_PROTOCOL_VERSION")),
  ]

  @Test("Each reason of the TLS library is said in words, without a path", arguments: 0..<cases.count)
  func reasons(index: Int) {
    let (reason, failure) = Self.cases[index]
    let found = TLSFailure(words: Self.words(reason))
    #expect(found == failure)
    #expect(!"\(found)".contains("/") && "\(found)".hasPrefix("it"), "\(found)")
  }

  @Test("A text without a reason is not repeated")
  func unknown() {
    #expect("\(TLSFailure(words: "uncleanShutdown"))" == "its TLS does not fit (the handshake failed)")
    #expect(TLSFailure(CancellationError()) == nil)
  }
}
