package import BatonModel

/// A notification as a mail of plain text (RFC 5322). Facts may hold anything, so no line of them becomes a header.
package enum MailText {
  /// Whether the text is one address that can stand in a header as it is: `local@domain` in ASCII without spaces,
  /// quotes, commas and brackets.
  package static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let allowed = { (byte: UInt8) in
      byte > 0x20 && byte < 0x7F && !"\"(),:;<>@[\\]".utf8.contains(byte)
    }
    return parts.count == 2 && text.utf8.count <= 254
      && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(allowed) } && !text.hasPrefix("-")
  }

  package static func message(_ facts: JobNotification, to address: String, from sender: String?) -> String {
    var headers = [("To", address), ("Subject", "Baton: \(facts.subject)")]
    if let sender { headers.insert(("From", sender), at: 0) }
    headers += [
      ("Message-ID", "<\(facts.id)@baton>"), ("Auto-Submitted", "auto-generated"), ("MIME-Version", "1.0"),
      ("Content-Type", "text/plain; charset=utf-8"), ("Content-Transfer-Encoding", "8bit"),
    ]
    let head = headers.map { "\($0): \(headerText($1))\n" }.joined()
    return head + "\n" + body(facts)
  }

  private static func body(_ facts: JobNotification) -> String {
    let rows: [(String, String?)] = [
      ("event", facts.event.rawValue), ("at", facts.at), ("job", facts.identifier?.rawValue),
      ("request", facts.request.map(String.init)), ("namespace", facts.namespace), ("state", facts.state),
      ("reason", facts.reason), ("failure", facts.failure), ("host", facts.host),
      ("launches", facts.launches.map(String.init)), ("submitted", facts.submittedAt), ("due", facts.due),
      ("trace", facts.trace), ("id", facts.id),
    ]
    let lines = rows.compactMap { name, value in value.map { "\(name): \(bodyText($0))" } }
    return ([facts.subject, ""] + lines).map(bodyText).joined(separator: "\n") + "\n"
  }

  /// The text on one line of at most 200 characters of ASCII, so that it is one header, and no other.
  private static func headerText(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.prefix(200).map { (0x20...0x7E).contains($0.value) ? $0 : "?" }))
  }

  /// The text without control characters, in lines that mail programs take. A line that a value begins is indented, so
  /// that it looks like no other row.
  private static func bodyText(_ text: String) -> String {
    var (lines, length) = ("", 0)
    for scalar in text.unicodeScalars {
      let isBreak = scalar == "\n"
      if isBreak || length >= 200 {
        lines += "\n  "
        length = 0
      }
      if isBreak { continue }
      let isControl = scalar.properties.generalCategory == .control
      lines.unicodeScalars.append(isControl ? " " : scalar)
      length += 1
    }
    return lines
  }
}
