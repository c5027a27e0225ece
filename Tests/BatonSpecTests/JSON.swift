import Foundation
import Yams

/// A JSON value, as a schema sees it.
enum JSON: Hashable, Decodable {
  case null
  case boolean(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSON].self))
    }
  }

  subscript(_ key: String) -> JSON? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  /// The value as JSON text, for other validators.
  var encoded: String {
    switch self {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .number(let value): value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    case .string(let value): String(decoding: (try? JSONEncoder().encode(value)) ?? Data(), as: UTF8.self)
    case .array(let values): "[" + values.map(\.encoded).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(JSON.string($0.key).encoded):\($0.value.encoded)" }.joined(
          separator: ",") + "}"
    }
  }
}

extension JSON {
  /// The documents as an editor checks them against a schema, read with the core schema of YAML 1.2. Yams alone
  /// composes them, so that a mistake in Baton's reader cannot hide a difference. Not for hostile files.
  static func documents(of source: [UInt8]) throws -> [JSON] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = String(decoding: source.starts(with: mark) ? source.dropFirst(3) : source[...], as: UTF8.self)
    var nodes = try compose_all(yaml: text, .basic, .default, .utf8)
    var documents: [JSON] = []
    while let node = nodes.next() {
      // A document that has only comments does not count.
      if let scalar = node.scalar, scalar.string.isEmpty, scalar.style == .plain { continue }
      documents.append(JSON(node))
    }
    if let error = nodes.error { throw error }
    return documents
  }

  private init(_ node: Node) {
    switch node {
    case .scalar(let scalar) where scalar.style == .plain: self = JSON(plain: scalar.string)
    case .scalar(let scalar): self = .string(scalar.string)
    case .sequence(let sequence): self = .array(sequence.map(JSON.init))
    case .mapping(let mapping):
      let members = mapping.map { pair in (pair.key.scalar?.string ?? "", JSON(pair.value)) }
      self = .object(Dictionary(members) { first, _ in first })
    case .alias: preconditionFailure("a composed document has no aliases")
    }
  }

  private init(plain text: String) {
    switch text {
    case "", "~", "null", "Null", "NULL": self = .null
    case "true", "True", "TRUE": self = .boolean(true)
    case "false", "False", "FALSE": self = .boolean(false)
    default: self = JSON.number(in: text) ?? .string(text)
    }
  }

  private static func number(in text: String) -> JSON? {
    if text.wholeMatch(of: /0o[0-7]+/) != nil { return Int(text.dropFirst(2), radix: 8).map { .number(Double($0)) } }
    if text.wholeMatch(of: /0x[0-9a-fA-F]+/) != nil {
      return Int(text.dropFirst(2), radix: 16).map { .number(Double($0)) }
    }
    guard text.wholeMatch(of: /[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?/) != nil else { return nil }
    return Double(text).map(JSON.number)
  }
}
