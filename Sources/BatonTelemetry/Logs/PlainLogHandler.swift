import BatonModel
package import Logging

/// Keeps every log entry on one line with the fields that Baton gave it, also where another process chose a part of the
/// text: control characters in the message and in the values of its metadata are written as `\n` or `\u{1B}`, and a value
/// with a space, `=`, `[`, `]` or `"` in it stands in double quotes, with `\"` for a quote in it. Otherwise a principal or
/// a host name could forge an entry or a field, and one with escape sequences could write to the terminal that shows the
/// log.
///
/// The one place for that: both programs put it around the handler that writes their log.
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
    case .string(let text): .string(quoted(text.escaped))
    case .stringConvertible(let value): .string(quoted(value.description.escaped))
    case .array(let values): .array(values.map(plain))
    case .dictionary(let values): .dictionary(plain(values))
    }
  }

  private static func quoted(_ text: String) -> String {
    guard text.contains(where: { " =[]\"".contains($0) }) else { return text }
    return "\"" + text.replacing("\"", with: "\\\"") + "\""
  }
}
