#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is submitted with a request: JSON text, a value that is encoded to it, or bytes.
public struct TestPayload: Sendable, ExpressibleByStringLiteral {
  let bytes: Result<[UInt8], any Error>

  /// JSON as it is written.
  public init(stringLiteral text: String) { self.init(bytes: Array(text.utf8)) }

  public init(bytes: [UInt8]) { self.bytes = .success(bytes) }

  /// `value` as JSON. What the encoder throws, the first launch throws.
  public static func json(_ value: some Encodable) -> Self {
    Self(encoded: Result { [UInt8](try JSONEncoder().encode(value)) })
  }

  private init(encoded: Result<[UInt8], any Error>) { bytes = encoded }
}
