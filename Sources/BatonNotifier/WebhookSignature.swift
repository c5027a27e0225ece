package import BatonModel
internal import Crypto

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The secret of a webhook. It appears in no text: its description does not show it.
package struct WebhookSecret: Hashable, Sendable, CustomStringConvertible {
  fileprivate let bytes: [UInt8]

  /// How many bytes a secret has.
  package static let sizes = 16...128
  /// What the file of a secret contains, in words for people.
  package static let rule =
    "one line: whsec_ and base64 of 16 to 128 random bytes, or 16 to 128 characters that are hard to guess"

  /// Reads the content of a secret's file; `nil` if it is no secret. A line that begins with `whsec_` is base64, as
  /// Standard Webhooks write it; otherwise the bytes of the line are the secret.
  package init?(file content: [UInt8]) {
    var line = content[...]
    while let last = line.last, last == 0x0A || last == 0x0D { line = line.dropLast() }
    guard !line.contains(0x0A), let text = String(validating: line, as: UTF8.self) else { return nil }
    var bytes = Array(line)
    if text.hasPrefix("whsec_") {
      guard let data = Data(base64Encoded: String(text.dropFirst(6))) else { return nil }
      bytes = Array(data)
    }
    guard Self.sizes.contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  package var description: String { "(secret)" }

  /// The header fields that prove where a request comes from, as Standard Webhooks define them
  /// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): the signature is the
  /// HMAC-SHA256 of the id, the time and the body, with dots between.
  package func headers(id: String, at date: Timestamp, body: String) -> [(name: String, value: String)] {
    let seconds = "\(date.nanoseconds / 1_000_000_000)"
    let text = Array("\(id).\(seconds).\(body)".utf8)
    let code = HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: bytes))
    return [
      ("webhook-id", id), ("webhook-timestamp", seconds),
      ("webhook-signature", "v1,\(Data(code).base64EncodedString())"),
    ]
  }
}
