import ArgumentParser
import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the value of `--payload`: JSON, or `@` and the path of a file with JSON.
enum Payload {
  /// The bytes of the payload. The command checks the JSON, so that no handler gets text that is not JSON.
  /// - Throws: a `ValidationError` if the file cannot be read, the payload is larger than
  ///   `Submission.maximumPayloadBytes`, or it is not JSON.
  static func bytes(_ text: String) throws -> [UInt8] {
    let bytes = text.hasPrefix("@") ? try contents(of: String(text.dropFirst())) : Array(text.utf8)
    guard bytes.count <= Submission.maximumPayloadBytes else {
      throw ValidationError(
        "The payload has \(bytes.count) bytes and may have \(Submission.maximumPayloadBytes): "
          + "store the data where the job can read it, and put only its location into the payload.")
    }
    guard (try? JSONDecoder().decode(AnyJSON.self, from: Data(bytes))) != nil else {
      throw ValidationError(
        "The payload is not JSON: quote text twice, as in --payload '\"text\"'; name a file as @FILE.")
    }
    return bytes
  }

  private static func contents(of path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ValidationError("The payload's file '\(path)' cannot be read: look at its name and permissions.")
    }
    return Array(data)
  }
}

/// Decodes any JSON value, and keeps nothing of it.
private struct AnyJSON: Decodable {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: Key.self) {
      for key in object.allKeys { _ = try object.decode(AnyJSON.self, forKey: key) }
    } else if var array = try? decoder.unkeyedContainer() {
      while !array.isAtEnd { _ = try array.decode(AnyJSON.self) }
    }
  }
}
