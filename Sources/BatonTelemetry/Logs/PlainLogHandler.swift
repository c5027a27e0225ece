import BatonModel
package import Logging

/// Keeps every log entry on one line, whatever another process had a part in: control characters in the message and in
/// the values of its metadata are written as `\n` or `\u{1B}`. Otherwise a principal or a host name with a line break in
/// it could forge an entry, and one with escape sequences could write to the terminal that shows the log.
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
    case .string(let text): .string(text.escaped)
    case .stringConvertible(let value): .string(value.description.escaped)
    case .array(let values): .array(values.map(plain))
    case .dictionary(let values): .dictionary(plain(values))
    }
  }
}
