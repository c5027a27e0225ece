import BatonSpec
import Yams

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A daemon's YAML file: where each of its keys stands, and what the reader of plain values cannot give.
struct SettingsFile: Sendable {
  /// Where a value stands, counted from 1.
  struct Place: Hashable, Sendable {
    var line: Int
    var column: Int
    /// Neither a list nor a mapping.
    var isPlain: Bool
  }

  let path: String
  /// Of each key that is known and given, such as `idle.after`.
  private(set) var places: [String: Place] = [:]
  /// Of the keys that stand for a mapping as a whole: names to plain values.
  private(set) var mappings: [String: [String: String]] = [:]
  /// Nothing is in it but comments.
  let isEmpty: Bool

  private static let mostBytes = 1 << 20

  /// Notes unknown keys, with the nearest that is known, and mappings of which a value is not plain.
  /// - Throws: `SettingsError` if the file cannot be read, or is no YAML with keys and values.
  init(_ path: String, keys: [String], report: SettingsReport) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SettingsError("the configuration file \(path) cannot be read: does it exist, and may this user read it?")
    }
    guard data.count <= Self.mostBytes else {
      throw SettingsError("\(path) has over 1 MiB: that is no configuration file")
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
    guard let mapping = node.mapping else { throw SettingsError("\(path):1:1: error: keys and values are expected") }
    read(mapping, below: "", keys, report)
  }

  /// A key such as `limits.pending` stands in a mapping below `limits`.
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
        return report.add(problem("'\(name)' has names and plain values, such as {zone: garage}", at: place))
      }
      plain[key] = plain[key] ?? text
    }
  }

  /// `idle` for `idle.after`, `network.reachability` and `network` for `network.reachability.target`.
  private static func sections(_ keys: [String]) -> [String] {
    Set(
      keys.flatMap { key in
        let parts = key.split(separator: ".")
        return (1..<max(1, parts.count)).map { parts.prefix($0).joined(separator: ".") }
      }
    ).sorted()
  }

  private static func place(of node: Yams.Node, or key: Yams.Node) -> Place {
    let mark = node.mark ?? key.mark
    return Place(line: mark?.line ?? 1, column: mark?.column ?? 1, isPlain: node.scalar != nil)
  }

  func problem(_ text: String, at place: Place) -> SettingsProblem {
    SettingsProblem(
      place: "\(path):\(place.line):\(place.column)", line: place.line, column: place.column, message: text)
  }
}
