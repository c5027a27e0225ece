import BatonBase
internal import BatonModel

extension SignalSettings {
  /// Reads the settings of one signal. A variable of the signal itself (`OTEL_EXPORTER_OTLP_TRACES_…`) replaces the
  /// general variable (`OTEL_EXPORTER_OTLP_…`) as a whole.
  init(_ signal: Signal, from reader: inout EnvironmentReader) {
    self.init(signal: signal)
    let found = Self.endpoint(of: signal, from: &reader)
    endpoint = found ?? endpoint
    exporters = Self.exporters(of: signal, from: &reader) ?? (found == nil ? [] : [.otlp])
    headers = Self.headers(reader.name("HEADERS", of: signal), from: &reader)
    compression = reader.choice(
      reader.name("COMPRESSION", of: signal), otherwise: Endpoint.isLoopback(endpoint) ? .none : .gzip)
    timeout = reader.timeout(reader.name("TIMEOUT", of: signal), otherwise: timeout)
    certificate = reader.text(reader.name("CERTIFICATE", of: signal))
    file = reader.text(reader.name("FILE", of: signal))
    if file == nil, exporters.contains(.file) {
      reader.warn(
        "OTEL_\(signal.rawValue)_EXPORTER",
        "`otlp_file` needs OTEL_EXPORTER_OTLP_FILE, which is not set; this exporter is ignored")
      exporters.removeAll { $0 == .file }
    }
    Self.checkProtocol(reader.name("PROTOCOL", of: signal), from: &reader)
  }

  /// The endpoint that the environment sets; `nil` if no endpoint is set, or if none of the values is a valid URL.
  private static func endpoint(of signal: Signal, from reader: inout EnvironmentReader) -> String? {
    if let own = url("OTEL_EXPORTER_OTLP_\(signal.rawValue)_ENDPOINT", from: &reader) { return own }
    return url("OTEL_EXPORTER_OTLP_ENDPOINT", from: &reader).map { Endpoint.appending(signal.path, to: $0) }
  }

  private static func url(_ name: String, from reader: inout EnvironmentReader) -> String? {
    guard let text = reader.text(name) else { return nil }
    if Endpoint.isValid(text) { return text }
    reader.warn(name, "not an http or https URL with a host; it counts as unset")
    return nil
  }

  /// The exporters that the environment names. The result is empty for `none`, and `nil` if the variable names no known
  /// exporter.
  private static func exporters(of signal: Signal, from reader: inout EnvironmentReader) -> [Exporter]? {
    let name = "OTEL_\(signal.rawValue)_EXPORTER"
    let words = (reader.text(name) ?? "").split(separator: ",").map(\.trimmed).filter { !$0.isEmpty }
    var exporters: [Exporter] = []
    for word in words where word != "none" {
      if let exporter = signal.exporters.first(where: { $0.rawValue == word }) {
        if !exporters.contains(exporter) { exporters.append(exporter) }
      } else {
        let known = signal.exporters.map(\.rawValue).joined(separator: ", ")
        reader.warn(name, "\(reader.quote(word)) is not one of \(known), none; it is ignored")
      }
    }
    guard words.contains("none") else { return exporters.isEmpty ? nil : exporters }
    if words.contains(where: { $0 != "none" }) {
      reader.warn(name, "`none` is named together with other exporters; nothing is exported")
    }
    return []
  }

  private static func headers(_ name: String, from reader: inout EnvironmentReader) -> [Header] {
    var headers: [Header] = []
    for (index, pair) in KeyValueList.pairs(reader.text(name) ?? "").enumerated() {
      if let pair, KeyValueList.isToken(pair.key), KeyValueList.isFieldValue(pair.value) {
        headers.append(Header(pair.key, pair.value))
      } else {
        reader.warn(name, "entry \(index + 1) is not a header as `name=value` with percent-encoding; it is ignored")
      }
    }
    return headers
  }

  /// Warns if the environment asks for a protocol other than `http/protobuf`, the only protocol that Baton has.
  private static func checkProtocol(_ name: String, from reader: inout EnvironmentReader) {
    guard let text = reader.text(name), text != "http/protobuf" else { return }
    reader.warn(name, "\(reader.quote(text)) is not supported; http/protobuf is used")
  }
}

extension EnvironmentReader {
  /// The name of the signal's own variable if it is set, else the name of the general variable.
  fileprivate func name(_ option: String, of signal: SignalSettings.Signal) -> String {
    let own = "OTEL_EXPORTER_OTLP_\(signal.rawValue)_\(option)"
    return text(own) == nil ? "OTEL_EXPORTER_OTLP_\(option)" : own
  }
}
