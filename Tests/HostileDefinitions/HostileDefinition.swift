import Foundation

/// A definition that no part of Baton may accept. It is a line of `Tests/Faults/hostile_definitions.jsonl`, whose lines
/// a fault row sends to a real coordinator too.
public struct HostileDefinition: Sendable, CustomStringConvertible {
  /// What is wrong with the definition, in words.
  public let name: String
  /// The field that the refusal has to name. It is empty if the definition as a whole is wrong.
  public let field: String
  /// The definition as JSON: the whole line of the file.
  public let json: String

  public var description: String { name }

  /// All hostile definitions, in the order of the file.
  public static let all: [Self] = {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../Faults/hostile_definitions.jsonl"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      preconditionFailure("\(path) cannot be read")
    }
    return text.split(separator: "\n").map { line in
      let head = try? JSONDecoder().decode(Head.self, from: Data(line.utf8))
      guard let head else { preconditionFailure("a line of \(path) has no 'case' and 'field': \(line.prefix(80))") }
      return Self(name: head.case, field: head.field, json: String(line))
    }
  }()

  private struct Head: Decodable {
    var `case`: String
    var field: String
  }
}
