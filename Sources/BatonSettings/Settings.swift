import BatonSpec
import Configuration
import SystemPackage

/// The settings of a daemon: what its flags do not say comes from the environment (`BATON_LEASE_TERM`), else from its
/// YAML file (`leaseTerm: 15s`), else it has its default.
///
/// A wrong value does not end the reading: it is noted with its place and reads as nil, so that `finish()` can tell all
/// that is wrong at once.
package struct Settings: Sendable {
  private let reader: ConfigReader
  private let environment: [String: String]
  private let file: SettingsFile?
  private let report: SettingsReport

  /// - Parameters:
  ///   - file: nil means that there is none.
  ///   - keys: every key that the daemon knows; another one in the file is noted, with the nearest of these.
  /// - Throws: `SettingsError` if the file cannot be read, or is no YAML.
  package init(file: String?, environment: [String: String], keys: [String]) async throws {
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "baton")
    ]
    let report = SettingsReport()
    let read = try file.map { try SettingsFile($0, keys: keys, report: report) }
    // Without anything in it, all of the file is commented out, as in the files that are shipped.
    if let found = read, !found.isEmpty {
      do {
        providers.append(try await FileProvider<YAMLSnapshot>(filePath: FilePath(found.path)))
      } catch {
        throw SettingsError("\(found.path) cannot be read as YAML: \(error)")
      }
    }
    reader = ConfigReader(providers: providers)
    (self.environment, self.file, self.report) = (environment, read, report)
  }

  /// - Throws: `SettingsError` with everything that was noted so far, in the order of the file.
  package func finish() throws {
    if let error = report.error { throw error }
  }

  /// A text; noted if the file has something else there.
  package func text(_ key: String) -> String? {
    if let text = reader.string(forKey: ConfigKey(key)) { return text }
    requirePlain(key)
    return nil
  }

  package func number(_ key: String, in range: ClosedRange<Int>) -> Int? {
    guard let text = written(key) else { return nil }
    if let number = Int(text), range.contains(number) { return number }
    note(key, "must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    return nil
  }

  package func duration(_ key: String) -> Duration? {
    guard let text = written(key) else { return nil }
    do {
      return try Values.duration(text)
    } catch {
      note(key, "\(error)")
      return nil
    }
  }

  /// `true` or `false`.
  package func flag(_ key: String) -> Bool? {
    if let flag = reader.bool(forKey: ConfigKey(key)) { return flag }
    if let text = written(key) { note(key, "must be true or false, not '\(text)'") }
    return nil
  }

  /// One of a few words.
  package func choice<Value: RawRepresentable & CaseIterable>(
    _ key: String, _ type: Value.Type
  ) -> Value? where Value.RawValue == String {
    guard let text = written(key) else { return nil }
    if let value = Value(rawValue: text) { return value }
    note(key, "must be one of " + Value.allCases.map(\.rawValue).joined(separator: ", ") + ", not '\(text)'")
    return nil
  }

  /// Names and plain values: a mapping in the file, `zone=garage,disk=fast` in the environment.
  package func mapping(_ key: String) -> [String: String]? {
    guard let pairs = list(key) else { return file?.mappings[key] }
    var mapping: [String: String] = [:]
    for pair in pairs {
      guard let middle = pair.firstIndex(of: "=") else {
        note(key, "must be NAME=VALUE, separated by commas, not '\(pair)'")
        continue
      }
      mapping[String(pair[..<middle])] = String(pair[pair.index(after: middle)...])
    }
    return mapping
  }

  /// One plain value is a list of one.
  package func list(_ key: String) -> [String]? {
    reader.stringArray(forKey: ConfigKey(key)) ?? plain(key).map { [$0] }
  }

  /// A plain number in YAML is a number to the reader, and text in the environment.
  private func plain(_ key: String) -> String? {
    if let text = reader.string(forKey: ConfigKey(key)) { return text }
    if let number = reader.int(forKey: ConfigKey(key)) { return String(number) }
    return reader.double(forKey: ConfigKey(key)).map { String($0) }
  }

  private func written(_ key: String) -> String? {
    if let text = plain(key) { return text }
    requirePlain(key)
    return nil
  }

  private func requirePlain(_ key: String) {
    if environment[Self.variable(key)] == nil, file?.places[key]?.isPlain == false {
      note(key, "must be one plain value, not a list or a mapping")
    }
  }

  /// Notes a wrong value, with where it stands.
  package func note(_ key: String, _ text: String) {
    let variable = Self.variable(key)
    if environment[variable] != nil {
      report.add(SettingsProblem(place: "the environment variable \(variable)", message: "'\(key)': \(text)"))
    } else if let file, let place = file.places[key] {
      report.add(file.problem("'\(key)': \(text)", at: place))
    } else {
      report.add(SettingsProblem(place: "the settings", message: "'\(key)': \(text)"))
    }
  }

  /// `idle.otherLoad` is `BATON_IDLE_OTHER_LOAD`.
  private static func variable(_ key: String) -> String {
    "BATON_"
      + key.reduce(into: "") { name, character in
        if character.isUppercase { name += "_" }
        name += character == "." ? "_" : character.uppercased()
      }
  }
}
