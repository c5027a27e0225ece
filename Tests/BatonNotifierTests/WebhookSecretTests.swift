import BatonModel
import Testing

@testable import BatonNotifier

@Suite struct WebhookSecretTests {
  /// The vector of the reference implementations of Standard Webhooks.
  @Test func `the signature is that of Standard Webhooks`() throws {
    let secret = try #require(WebhookSecret(file: Array("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n".utf8)))
    let headers = secret.headers(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: Timestamp(nanoseconds: 1_614_265_330_999_999_999),
      body: #"{"test": 2432232314}"#)
    #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
    #expect(
      headers.map(\.value) == [
        "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      ])
  }

  @Test func `a plain line is a secret too, and signs as its bytes do`() throws {
    let plain = try #require(WebhookSecret(file: Array("0123456789abcdef\r\n".utf8)))
    let encoded = try #require(WebhookSecret(file: Array("whsec_MDEyMzQ1Njc4OWFiY2RlZg==".utf8)))
    #expect(plain == encoded)
  }

  @Test(arguments: ["", "short", "whsec_!!!!", "whsec_c2hvcnQ=", "0123456789abcdef\n0123456789abcdef"])
  func `what is no secret is refused`(text: String) { #expect(WebhookSecret(file: Array(text.utf8)) == nil) }

  @Test func `bytes that are no text, and too many, are refused`() {
    #expect(WebhookSecret(file: [0xFF, 0xFE] + Array("0123456789abcdef".utf8)) == nil)
    #expect(WebhookSecret(file: Array(repeating: 0x61, count: 129)) == nil)
  }

  @Test func `a secret is in no text`() throws {
    let secret = try #require(WebhookSecret(file: Array("0123456789abcdef".utf8)))
    #expect(!"\(secret)".contains("0123"))
  }
}
