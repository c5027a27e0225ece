import BatonSpec
import Yams

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A daemon's YAML file. It knows where each key is in the file, which is needed for error messages, and it reads
/// mappings, which the reader of plain values cannot return.
struct SettingsFile: Sendable {
  /// Where a value is in the file. Lines and columns are counted from 1.
  struct Place: Hashable, Sendable {
    var line: Int
    var column: Int
    /// Whether the value is neither a list nor a mapping.
    var isPlain: Bool
  }

  let path: String
  /// The place of each known key in the file, such as `idle.after`.
  private(set) var places: [String: Place] = [:]
  /// The names and plain values of each key whose value is a mapping.
  private(set) var mappings: [String: [String: String]] = [:]
  /// The elements of each key whose value is a list of mappings.
  private(set) var records: [String: [SettingsRecord]] = [:]
  /// Whether the file contains nothing but comments.
  let isEmpty: Bool

  private static let mostBytes = 1 << 20

  /// Reads the file. Unknown keys are noted in `report` with the nearest known key, and so are mappings with values
  /// that are not plain.
  /// - Throws: `SettingsError` if the file cannot be read, is larger than 1 MiB, or is not a YAML mapping.
  init(_ path: String, keys: [String], records: [String] = [], report: SettingsReport) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SettingsError("the configuration file \(path) cannot be read: does it exist, and may this user read it?")
    }
    guard data.count <= Self.mostBytes else {
      throw SettingsError("\(path) is larger than 1 MiB, which is the limit for a configuration file")
    }
    self.path = path
    let node: Yams.Node?
    do {
      node = try Yams.compose(yaml: String(decoding: data, as: UTF8.self))
    } catch {
      throw SettingsError("\(path): \(error)")
    }
    isEmpty = node == nil
    guard let node else { return }
    guard let mapping = node.mapping else {
      throw SettingsError("\(path):1:1: error: the file must be a mapping of keys to values")
    }
    read(mapping, below: "", keys, report)
    readRecords(of: mapping, records, report)
  }

  private mutating func readRecords(of mapping: Yams.Node.Mapping, _ names: [String], _ report: SettingsReport) {
    for (key, value) in mapping {
      guard let name = key.string, names.contains(name) else { continue }
      if value.sequence == nil {
        report.add(problem("'\(name)' must be a list of mappings", at: Self.place(of: value, or: key)))
      }
      records[name] = value.sequence?.map { SettingsRecord($0, of: name, in: self, report) } ?? []
    }
  }

  /// Reads a mapping and the mappings within it. The key `limits.pending` is the key `pending` in the mapping `limits`.
  private mutating func read(
    _ mapping: Yams.Node.Mapping, below prefix: String, _ keys: [String], _ report: SettingsReport
  ) {
    for (key, value) in mapping {
      let name = prefix + (key.string ?? "")
      if keys.contains(name) {
        places[name] = Self.place(of: value, or: key)
        if let inner = value.mapping { mappings[name] = plain(inner, of: name, report) }
      } else if let inner = value.mapping, keys.contains(where: { $0.hasPrefix(name + ".") }) {
        read(inner, below: name + ".", keys, report)
      } else {
        let nearest =
          Values.nearest(to: name, among: keys + Self.sections(keys)).map { ", did you mean '\($0)'?" } ?? ""
        report.add(problem("unknown key '\(name)'\(nearest)", at: Self.place(of: key, or: key)))
      }
    }
  }

  private func plain(
    _ mapping: Yams.Node.Mapping, of name: String, _ report: SettingsReport
  ) -> [String: String] {
    mapping.reduce(into: [:]) { plain, pair in
      guard let key = pair.key.string, let text = pair.value.scalar?.string else {
        let place = Self.place(of: pair.value, or: pair.key)
        return report.add(
          problem("'\(name)' must be a mapping of names to plain values, such as {zone: garage}", at: place))
      }
      plain[key] = plain[key] ?? text
    }
  }

  /// The names of the mappings that contain keys: `idle` for `idle.after`, and `network.reachability` and `network` for
  /// `network.reachability.target`.
  private static func sections(_ keys: [String]) -> [String] {
    Set(
      keys.flatMap { key in
        let parts = key.split(separator: ".")
        return (1..<max(1, parts.count)).map { parts.prefix($0).joined(separator: ".") }
      }
    ).sorted()
  }

  static func place(of node: Yams.Node, or key: Yams.Node) -> Place {
    let mark = node.mark ?? key.mark
    return Place(line: mark?.line ?? 1, column: mark?.column ?? 1, isPlain: node.scalar != nil)
  }

  func problem(_ text: String, at place: Place) -> SettingsProblem {
    SettingsProblem(
      place: "\(path):\(place.line):\(place.column)", line: place.line, column: place.column, message: text)
  }
}
