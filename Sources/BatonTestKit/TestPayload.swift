#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The payload of a request under test: JSON text, a value that is encoded to JSON, or bytes. It may have at most 64
/// KiB.
///
/// ```swift
/// let text = TestRequest("com.example.import.eu", payload: #"{"pages": 3}"#)
/// let value = TestRequest("com.example.import.eu", payload: .json(Importer.Settings(pages: 3)))
/// ```
///
/// The samples are from `Examples/TestKit/Samples.swift`. A payload that is too large, or that cannot be encoded,
/// is an error of the first launch.
public struct TestPayload: Sendable, ExpressibleByStringLiteral {
  let bytes: Result<[UInt8], any Error>

  /// Creates a payload of the UTF-8 bytes of a text. The text is not checked: with text that is not JSON, a test can
  /// see what the handler does with such a payload.
  public init(stringLiteral text: String) { self.init(bytes: Array(text.utf8)) }

  /// Creates a payload of any bytes, for a handler that reads `task.payload`.
  public init(bytes: [UInt8]) { self.bytes = .success(bytes) }

  /// Creates a payload of `value`, encoded as JSON. If the encoder throws an error, the first launch throws it.
  public static func json(_ value: some Encodable) -> Self {
    Self(encoded: Result { [UInt8](try JSONEncoder().encode(value)) })
  }

  private init(encoded: Result<[UInt8], any Error>) { bytes = encoded }
}
