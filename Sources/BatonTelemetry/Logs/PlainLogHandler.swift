import BatonModel
package import Logging

/// A log handler that keeps each log entry on one line and protects its fields, even if another process chose a part of
/// the text. It wraps the handler that writes the log; both daemons use it.
///
/// Control characters in the message and in metadata are written as `\n` or `\u{1B}`. A metadata value that contains a
/// space, `=`, `[`, `]` or `"` is put in double quotes; in the quotes, `"` is written as `\"` and a backslash as `\\`.
/// Without this, a principal or a host name could forge an entry or a field, and escape sequences could act on the
/// terminal that shows the log.
package struct PlainLogHandler: LogHandler {
  private var inner: any LogHandler

  package init(_ inner: any LogHandler) { self.inner = inner }

  package var logLevel: Logger.Level {
    get { inner.logLevel }
    set { inner.logLevel = newValue }
  }

  package var metadata: Logger.Metadata {
    get { inner.metadata }
    set { inner.metadata = Self.plain(newValue) }
  }

  package var metadataProvider: Logger.MetadataProvider? {
    get { inner.metadataProvider }
    set { inner.metadataProvider = newValue }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { inner[metadataKey: key] }
    set { inner[metadataKey: key.escaped] = newValue.map(Self.plain) }
  }

  package func log(event: LogEvent) {
    var event = event
    event.message = "\(event.message.description.escaped)"
    event.metadata = event.metadata.map(Self.plain)
    inner.log(event: event)
  }

  private static func plain(_ metadata: Logger.Metadata) -> Logger.Metadata {
    Logger.Metadata(metadata.map { ($0.key.escaped, plain($0.value)) }) { first, _ in first }
  }

  private static func plain(_ value: Logger.Metadata.Value) -> Logger.Metadata.Value {
    switch value {
    case .string(let text): .string(plain(text))
    case .stringConvertible(let value): .string(plain(value.description))
    case .array(let values): .array(values.map(plain))
    case .dictionary(let values): .dictionary(plain(values))
    }
  }

  private static func plain(_ text: String) -> String {
    guard text.contains(where: { " =[]\"".contains($0) }) else { return text.escaped }
    return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").escaped + "\""
  }
}
