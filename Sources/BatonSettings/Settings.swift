import BatonSpec
import Configuration
import SystemPackage
import Yams

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of a daemon: what its flags do not say comes from the environment (`BATON_LEASE_TERM`), else from its
/// YAML file (`leaseTerm: 15s`), else it has its default.
package struct Settings: Sendable {
  private let reader: ConfigReader
  private let file: String?
  /// Of the file, by key: names to plain values.
  private let mappings: [String: [String: String]]

  /// - Parameters:
  ///   - file: nil means that there is none.
  ///   - keys: every key that the daemon knows; another one in the file is an error, with the nearest of these.
  /// - Throws: `SettingsError` if the file cannot be read or has a key that nobody knows.
  package init(file: String?, environment: [String: String], keys: [String]) async throws {
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "baton")
    ]
    var mappings: [String: [String: String]] = [:]
    if let file {
      guard let found = try Self.check(file, keys) else {
        // All of it is commented out, as in the files that are shipped.
        reader = ConfigReader(providers: providers)
        (self.file, self.mappings) = (file, [:])
        return
      }
      mappings = found
      do {
        providers.append(try await FileProvider<YAMLSnapshot>(filePath: FilePath(file)))
      } catch {
        throw SettingsError("\(file) cannot be read as YAML: \(error)")
      }
    }
    reader = ConfigReader(providers: providers)
    self.file = file
    self.mappings = mappings
  }

  /// Returns the mappings that stand for a key as a whole; nil if nothing is in the file.
  private static func check(_ file: String, _ keys: [String]) throws -> [String: [String: String]]? {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw SettingsError("the configuration file \(file) cannot be read: does it exist, and may this user read it?")
    }
    guard data.count <= 1 << 20 else { throw SettingsError("\(file) has over 1 MiB: that is no configuration file") }
    let text = String(decoding: data, as: UTF8.self)
    let node: Yams.Node?
    do {
      node = try Yams.compose(yaml: text)
    } catch {
      throw SettingsError("\(file): \(error)")
    }
    guard let node else { return nil }
    guard let mapping = node.mapping else { throw SettingsError("\(file):1:1: error: keys and values are expected") }
    try check(mapping, below: "", file, keys)
    return try Dictionary(
      mapping.compactMap { key, value in
        guard let name = key.string, let inner = value.mapping, keys.contains(name) else { return nil }
        return (name, try plain(inner, of: name, file))
      }, uniquingKeysWith: { first, _ in first })
  }

  private static func plain(_ mapping: Yams.Node.Mapping, of name: String, _ file: String) throws -> [String: String] {
    try Dictionary(
      mapping.map { key, value in
        guard let key = key.string, let text = value.scalar?.string else {
          let place = (value.mark ?? key.mark).map { "\($0.line):\($0.column)" } ?? "1:1"
          throw SettingsError("\(file):\(place): error: '\(name)' has names and plain values, such as {zone: garage}")
        }
        return (key, text)
      }, uniquingKeysWith: { first, _ in first })
  }

  /// A key such as `limits.pending` stands in a mapping below `limits`.
  private static func check(
    _ mapping: Yams.Node.Mapping, below prefix: String, _ file: String, _ keys: [String]
  ) throws {
    for (key, value) in mapping {
      let name = prefix + (key.string ?? "")
      if keys.contains(name) { continue }
      if let inner = value.mapping, keys.contains(where: { $0.hasPrefix(name + ".") }) {
        try check(inner, below: name + ".", file, keys)
        continue
      }
      let nearest = Values.nearest(to: name, among: keys + sections(keys)).map { ", did you mean '\($0)'?" } ?? ""
      let place = key.mark.map { "\($0.line):\($0.column)" } ?? "1:1"
      throw SettingsError("\(file):\(place): error: unknown key '\(name)'\(nearest)")
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

  package func text(_ key: String) -> String? { reader.string(forKey: ConfigKey(key)) }

  package func number(_ key: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = written(key) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw mistake(key, "must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return number
  }

  package func duration(_ key: String) throws -> Duration? {
    guard let text = written(key) else { return nil }
    do {
      return try Values.duration(text)
    } catch {
      throw mistake(key, "\(error)")
    }
  }

  /// `true` or `false`.
  package func flag(_ key: String) throws -> Bool? {
    if let flag = reader.bool(forKey: ConfigKey(key)) { return flag }
    guard let text = written(key) else { return nil }
    throw mistake(key, "must be true or false, not '\(text)'")
  }

  /// One of a few words.
  package func choice<Value: RawRepresentable & CaseIterable>(
    _ key: String, _ type: Value.Type
  ) throws -> Value? where Value.RawValue == String {
    guard let text = written(key) else { return nil }
    guard let value = Value(rawValue: text) else {
      throw mistake(key, "must be one of " + Value.allCases.map(\.rawValue).joined(separator: ", ") + ", not '\(text)'")
    }
    return value
  }

  /// Names and plain values: a mapping in the file, `zone=garage,disk=fast` in the environment.
  package func mapping(_ key: String) throws -> [String: String]? {
    guard let pairs = list(key) else { return mappings[key] }
    return try Dictionary(
      pairs.map { pair in
        guard let middle = pair.firstIndex(of: "=") else {
          throw mistake(key, "must be NAME=VALUE, separated by commas, not '\(pair)'")
        }
        return (String(pair[..<middle]), String(pair[pair.index(after: middle)...]))
      }, uniquingKeysWith: { $1 })
  }

  /// One plain value is a list of one.
  package func list(_ key: String) -> [String]? {
    reader.stringArray(forKey: ConfigKey(key)) ?? written(key).map { [$0] }
  }

  /// A plain number in YAML is a number to the reader, and text in the environment.
  private func written(_ key: String) -> String? {
    if let text = reader.string(forKey: ConfigKey(key)) { return text }
    if let number = reader.int(forKey: ConfigKey(key)) { return String(number) }
    return reader.double(forKey: ConfigKey(key)).map { String($0) }
  }

  /// A wrong value, with where it may have come from.
  package func mistake(_ key: String, _ text: String) -> SettingsError {
    SettingsError("the setting '\(key)'" + (file.map { " (\($0), or the environment)" } ?? "") + ": \(text)")
  }
}

package struct SettingsError: Error, Sendable, CustomStringConvertible {
  package let message: String
  package init(_ message: String) { self.message = message }
  package var description: String { message }
}
