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

  /// - Parameters:
  ///   - file: nil means that there is none.
  ///   - keys: every key that the daemon knows; another one in the file is an error, with the nearest of these.
  /// - Throws: `SettingsError` if the file cannot be read or has a key that nobody knows.
  package init(file: String?, environment: [String: String], keys: [String]) async throws {
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "baton")
    ]
    if let file {
      try Self.check(file, keys)
      do {
        providers.append(try await FileProvider<YAMLSnapshot>(filePath: FilePath(file)))
      } catch {
        throw SettingsError("\(file) cannot be read as YAML: \(error)")
      }
    }
    reader = ConfigReader(providers: providers)
    self.file = file
  }

  private static func check(_ file: String, _ keys: [String]) throws {
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
    guard let node else { return }
    guard let mapping = node.mapping else { throw SettingsError("\(file):1:1: error: keys and values are expected") }
    try check(mapping, below: "", file, keys)
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
      let nearest = Values.nearest(to: name, among: keys).map { ", did you mean '\($0)'?" } ?? ""
      let place = key.mark.map { "\($0.line):\($0.column)" } ?? "1:1"
      throw SettingsError("\(file):\(place): error: unknown key '\(name)'\(nearest)")
    }
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

  package func list(_ key: String) -> [String]? { reader.stringArray(forKey: ConfigKey(key)) }

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
