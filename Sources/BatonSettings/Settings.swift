import BatonSpec
import Configuration
import SystemPackage

/// The settings of a daemon. A setting that has no flag on the command line is read from the environment
/// (`BATON_LEASE_TERM`), else from the daemon's YAML file (`leaseTerm: 15s`), else it is `nil` and the daemon uses its
/// default.
///
/// A wrong value does not stop the reading. The value is noted with its place and reads as `nil`, so that `finish()`
/// can report all wrong values at once.
package struct Settings: Sendable {
  private let reader: ConfigReader
  private let environment: [String: String]
  let file: SettingsFile?
  let report: SettingsReport

  /// Opens the settings.
  ///
  /// - Parameters:
  ///   - file: the path of the YAML file; `nil` if there is no file.
  ///   - keys: every key that the daemon knows. Another key in the file is noted as an error, with the nearest known
  ///     key.
  ///   - records: those of the keys whose value is a list of mappings (`records(_:fields:)`).
  /// - Throws: `SettingsError` if the file cannot be read, or is not YAML.
  package init(
    file: String?, environment: [String: String], keys: [String], records: [String] = []
  ) async throws {
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "baton")
    ]
    let report = SettingsReport()
    let read = try file.map { try SettingsFile($0, keys: keys, records: records, report: report) }
    // A file that contains only comments, like the files that are shipped, is not given to the reader.
    if let found = read, !found.isEmpty {
      do {
        // The reader takes no list of mappings, so it gets the file without them.
        if !found.records.isEmpty {
          let options = PlainSnapshot.ParsingOptions(records: records)
          providers.append(
            try await FileProvider<PlainSnapshot>(parsingOptions: options, filePath: FilePath(found.path)))
        } else {
          providers.append(try await FileProvider<YAMLSnapshot>(filePath: FilePath(found.path)))
        }
      } catch {
        throw SettingsError("\(found.path) cannot be read as YAML: \(error)")
      }
    }
    reader = ConfigReader(providers: providers)
    (self.environment, self.file, self.report) = (environment, read, report)
    for key in records where environment[Self.variable(key)] != nil {
      note(key, "is a list of mappings, which only the file can have")
    }
  }

  /// Ends the reading. Call it when all settings have been read.
  ///
  /// - Throws: `SettingsError` with everything that was noted, in the order of the file, if anything was noted.
  package func finish() throws {
    if let error = report.error { throw error }
  }

  /// The text of a key. A list or mapping in the file is noted as an error.
  package func text(_ key: String) -> String? {
    if let text = reader.string(forKey: ConfigKey(key)) { return text }
    requirePlain(key)
    return nil
  }

  /// The text of a key whose value may also be a list in the file. The elements of a list are joined by commas, so that
  /// the caller parses only one form. A mapping is noted as an error.
  package func textOrList(_ key: String) -> String? {
    if let text = reader.string(forKey: ConfigKey(key)) { return text }
    if let elements = reader.stringArray(forKey: ConfigKey(key)) { return elements.joined(separator: ",") }
    if isNotPlain(key) { note(key, "must be a text, or a list of texts") }
    return nil
  }

  /// A whole number. A value outside of `range`, or that is no number, is noted as an error.
  package func number(_ key: String, in range: ClosedRange<Int>) -> Int? {
    guard let text = written(key) else { return nil }
    if let number = Int(text), range.contains(number) { return number }
    note(key, "must be a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    return nil
  }

  /// A duration, written such as `15s`. A value that is no duration is noted as an error.
  package func duration(_ key: String) -> Duration? {
    guard let text = written(key) else { return nil }
    do {
      return try Values.duration(text)
    } catch {
      note(key, "\(error)")
      return nil
    }
  }

  /// A size in bytes, written such as `8GiB`, or `0` if the key allows it. A value that is no size is noted as an
  /// error.
  package func size(_ key: String, allowsZero: Bool = false) -> Int64? {
    guard let text = written(key) else { return nil }
    if allowsZero, text == "0" { return 0 }
    do {
      return try Values.size(text)
    } catch {
      note(key, "\(error)")
      return nil
    }
  }

  /// `true` or `false`. Another value is noted as an error.
  package func flag(_ key: String) -> Bool? {
    if let flag = reader.bool(forKey: ConfigKey(key)) { return flag }
    if let text = written(key) { note(key, "must be true or false, not '\(text)'") }
    return nil
  }

  /// One of the raw values of `Value`. Another value is noted as an error.
  package func choice<Value: RawRepresentable & CaseIterable>(
    _ key: String, _ type: Value.Type
  ) -> Value? where Value.RawValue == String {
    guard let text = written(key) else { return nil }
    if let value = Value(rawValue: text) { return value }
    note(key, "must be one of " + Value.allCases.map(\.rawValue).joined(separator: ", ") + ", not '\(text)'")
    return nil
  }

  /// Names with plain values: a mapping in the file, or `zone=garage,disk=fast` in the environment.
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

  /// A list of texts. A single plain value is read as a list with one element.
  package func list(_ key: String) -> [String]? {
    reader.stringArray(forKey: ConfigKey(key)) ?? plain(key).map { [$0] }
  }

  /// The plain value of a key as text. The reader returns an unquoted number in YAML as a number; in the environment
  /// every value is text.
  private func plain(_ key: String) -> String? {
    if let text = reader.string(forKey: ConfigKey(key)) { return text }
    if let number = reader.int(forKey: ConfigKey(key)) { return String(number) }
    return reader.double(forKey: ConfigKey(key)).map { String($0) }
  }

  /// The plain value of a key as text. A list or mapping in the file is noted as an error.
  private func written(_ key: String) -> String? {
    if let text = plain(key) { return text }
    requirePlain(key)
    return nil
  }

  private func requirePlain(_ key: String) {
    if isNotPlain(key) { note(key, "must be one plain value, not a list or a mapping") }
  }

  /// Whether the value of a key is a list or a mapping in the file, and the environment has no other value.
  private func isNotPlain(_ key: String) -> Bool {
    environment[Self.variable(key)] == nil && file?.places[key]?.isPlain == false
  }

  /// Notes that the value of a key is wrong, with the place where the value was set.
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

  /// The environment variable of a key: `BATON_IDLE_OTHER_LOAD` for `idle.otherLoad`.
  private static func variable(_ key: String) -> String {
    "BATON_"
      + key.reduce(into: "") { name, character in
        if character.isUppercase { name += "_" }
        name += character == "." ? "_" : character.uppercased()
      }
  }
}
