import BatonSpec
import Configuration
import Yams

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One mapping of a list of mappings in the file, such as one namespace.
package struct SettingsRecord: Sendable {
  /// The plain values by their names; a value in a mapping within is named `quotas.slots`.
  fileprivate(set) var values: [String: String] = [:]
  /// The lists of plain values by their names.
  fileprivate(set) var lists: [String: [String]] = [:]
  /// Where each of them is, and where the mapping begins (the empty name).
  fileprivate(set) var places: [String: SettingsFile.Place] = [:]

  /// The text of a field.
  package subscript(field: String) -> String? { values[field] }

  /// The texts of a field that may be a list, or one text.
  package func list(_ field: String) -> [String]? { lists[field] ?? values[field].map { [$0] } }

  /// Reads a mapping. What is neither plain nor a mapping is noted in `report`.
  init(_ node: Yams.Node, of key: String, in file: SettingsFile, _ report: SettingsReport) {
    places[""] = SettingsFile.place(of: node, or: node)
    guard let mapping = node.mapping else {
      report.add(file.problem("'\(key)': each element must be a mapping", at: places[""] ?? .beginning))
      return
    }
    read(mapping, below: "", of: key, in: file, report)
  }

  private mutating func read(
    _ mapping: Yams.Node.Mapping, below prefix: String, of key: String, in file: SettingsFile, _ report: SettingsReport
  ) {
    for (name, value) in mapping {
      let field = prefix + (name.string ?? "")
      let place = SettingsFile.place(of: value, or: name)
      places[field] = places[field] ?? place
      if let inner = value.mapping {
        read(inner, below: field + ".", of: key, in: file, report)
      } else if let text = value.scalar?.string {
        values[field] = values[field] ?? text
      } else if let texts = value.sequence?.map(\.scalar?.string), texts.allSatisfy({ $0 != nil }) {
        lists[field] = lists[field] ?? texts.compactMap { $0 }
      } else {
        report.add(file.problem("'\(key)': '\(field)' must be one plain value", at: place))
      }
    }
  }
}

extension SettingsFile.Place {
  fileprivate static let beginning = Self(line: 1, column: 1, isPlain: false)
}

extension Settings {
  /// A list of mappings, which only the file can have; empty if it has none.
  /// - Parameters:
  ///   - fields: the fields that a mapping may have. Another one is noted with the nearest known field.
  ///   - lists: those of them that may be lists.
  package func records(_ key: String, fields: [String], lists: [String] = []) -> [SettingsRecord] {
    let records = file?.records[key] ?? []
    let sections = Set(fields.flatMap { $0.split(separator: ".").dropLast().map(String.init) })
    for record in records {
      for field in record.lists.keys.sorted() where fields.contains(field) && !lists.contains(field) {
        note(key, record, field, "'\(field)' must be one plain value")
      }
      for (field, _) in record.places.sorted(by: { $0.key < $1.key })
      where !field.isEmpty && !fields.contains(field) {
        if sections.contains(field), record[field] == nil { continue }
        let nearest = Values.nearest(to: field, among: fields).map { ", did you mean '\($0)'?" } ?? ""
        note(key, record, field, "unknown key '\(field)'\(nearest)")
      }
    }
    return records
  }

  /// Notes that a field of a mapping is wrong, or the mapping itself if the field is not there.
  package func note(_ key: String, _ record: SettingsRecord, _ field: String, _ text: String) {
    guard let file, let place = record.places[field] ?? record.places[""] else { return note(key, text) }
    report.add(file.problem("'\(key)': \(text)", at: place))
  }

  /// A whole number of a mapping. A value outside of `range`, or that is no number, is noted.
  package func number(_ key: String, _ record: SettingsRecord, _ field: String, in range: ClosedRange<Int>) -> Int? {
    guard let text = record[field] else { return nil }
    if let number = Int(text), range.contains(number) { return number }
    note(
      key, record, field, "'\(field)' must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    return nil
  }

  /// A duration of a mapping. A value that is no duration is noted.
  package func duration(_ key: String, _ record: SettingsRecord, _ field: String) -> Duration? {
    guard let text = record[field] else { return nil }
    do {
      return try Values.duration(text)
    } catch {
      note(key, record, field, "'\(field)': \(error)")
      return nil
    }
  }
}

/// The values of a YAML file without those whose value is a list of mappings, which `YAMLSnapshot` does not take.
struct PlainSnapshot: FileConfigSnapshot {
  struct ParsingOptions: FileParsingOptions {
    /// The keys whose value is a list of mappings.
    var records: [String] = []

    static let `default` = ParsingOptions()
  }

  private let values: YAMLSnapshot

  init(data: RawSpan, providerName: String, parsingOptions: ParsingOptions) throws {
    let text = data.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let pairs = try Yams.compose(yaml: text)?.mapping?.filter { pair in
      !parsingOptions.records.contains(pair.key.string ?? "")
    }
    let rest = Yams.Node.Mapping((pairs ?? []).map { ($0.key, $0.value) })
    let plain = Array(try Yams.serialize(node: .mapping(rest)).utf8)
    values = try YAMLSnapshot(data: plain.span.bytes, providerName: providerName, parsingOptions: .default)
  }

  var providerName: String { values.providerName }
  var description: String { values.description }
  var debugDescription: String { values.debugDescription }

  func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    try values.value(forKey: key, type: type)
  }
}
