import BatonBase
import BatonModel

/// A piece of HTML. What stands in the source is markup; what is interpolated is text, and is escaped:
/// `"<p>\(title)</p>"`. Only `HTML` itself is interpolated as markup. There is no other way to make markup of a text,
/// so no text of a stranger can become markup.
///
/// Attributes stand in double quotes. The address of a link is a `Link`, which encodes its parts.
struct HTML: ExpressibleByStringInterpolation, Sendable {
  private(set) var text: String

  init(stringLiteral value: StaticString) { text = value.description }
  init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
  fileprivate init(_ text: String) { self.text = text }

  static let empty: HTML = ""

  var isEmpty: Bool { text.isEmpty }

  static func + (left: HTML, right: HTML) -> HTML { HTML(left.text + right.text) }
  static func += (left: inout HTML, right: HTML) { left.text += right.text }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 24 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: StaticString) { text += literal.description }
    mutating func appendInterpolation(_ html: HTML) { text += html.text }
    mutating func appendInterpolation(_ html: HTML?) { text += html?.text ?? "" }
    mutating func appendInterpolation(_ list: [HTML]) { for html in list { text += html.text } }
    /// Markup that stands only under a condition: `"<details\(isOpen, " open")>"`.
    mutating func appendInterpolation(_ condition: Bool, _ html: @autoclosure () -> HTML) {
      if condition { text += html().text }
    }
    /// A literal in an interpolation is markup of the source, and not a text: `"\(isOld ? "<b>old</b>" : "")"`.
    @_disfavoredOverload
    mutating func appendInterpolation(_ text: String) { self.text.append(escaping: text) }
    mutating func appendInterpolation(_ number: Int) { text += String(number) }
    mutating func appendInterpolation(_ number: Int64) { text += String(number) }
    mutating func appendInterpolation(_ link: Link) { text.append(escaping: link.text) }

    /// A number with a fixed number of decimals, for the coordinates of a picture.
    mutating func appendInterpolation(_ number: Double) { text += number.inPicture }
  }
}

extension Sequence<HTML> {
  func joined(by separator: HTML = HTML.empty) -> HTML {
    var all = HTML.empty
    for (index, html) in enumerated() { all += index == 0 ? html : separator + html }
    return all
  }
}

extension Double {
  /// The number with one decimal: pictures need no more.
  fileprivate var inPicture: String {
    let tenths = Int64((self * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
  }
}

extension String {
  /// Appends a text that may come from strangers: commands, workers, people. Markup is escaped; what acts on a terminal
  /// is left out; characters that change the direction of the text around them are shown as their number.
  fileprivate mutating func append(escaping foreign: String) {
    guard foreign.utf8.contains(where: { $0.isSpecialInHTML }) else { return append(foreign) }
    var scalars = foreign.unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "&": append("&amp;")
      case "<": append("&lt;")
      case ">": append("&gt;")
      case "\"": append("&quot;")
      case "'": append("&#39;")
      case "\n", "\t": unicodeScalars.append(scalar)
      case "\u{1B}": scalars.dropTerminalSequence()
      case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}": break
      case _ where scalar.isDirectional: append("U+" + String(scalar.value, radix: 16, uppercase: true))
      case _ where scalar.value & 0xFFFE == 0xFFFE || (0xFDD0...0xFDEF).contains(scalar.value): append("\u{FFFD}")
      default: unicodeScalars.append(scalar)
      }
    }
  }
}

extension UInt8 {
  /// Whether a text with this byte of UTF-8 needs a closer look: it is a character of markup, a control character, or
  /// begins one that is not ASCII.
  fileprivate var isSpecialInHTML: Bool {
    switch self {
    case 0..<0x20, 0x7F...: true
    case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"): true
    default: false
    }
  }
}

extension Unicode.Scalar {
  /// Whether the character reorders the text around it (https://www.unicode.org/reports/tr9/, section 2).
  fileprivate var isDirectional: Bool {
    switch value {
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

extension Substring.UnicodeScalarView {
  /// Leaves out the rest of an escape sequence of terminals (ECMA-48): `[` with parameters up to a letter, `]` with
  /// text up to a bell, or one character.
  fileprivate mutating func dropTerminalSequence() {
    switch popFirst() {
    case "[": while let next = popFirst(), !("@"..."~").contains(next) {}
    case "]":
      while let next = popFirst(), next != "\u{07}" {
        if next == "\u{1B}" {
          _ = popFirst()
          return
        }
      }
    default: break
    }
  }
}

/// The address of a page of the console: a path whose parts are encoded, with a query.
struct Link: Hashable, Sendable {
  fileprivate(set) var text: String

  /// - Parameters:
  ///   - parts: the parts of the path. `Link("requests", "com.example.a", "1")` is `/requests/com.example.a/1`.
  ///   - query: what is `nil` is left out.
  init(_ parts: String..., query: [(String, String?)] = []) {
    text = "/" + parts.map(\.percentEncoded).joined(separator: "/")
    add(query)
  }

  /// A page and a place on it.
  init(_ page: String, anchor: String) { text = "/" + page.percentEncoded + "#" + anchor.percentEncoded }

  private mutating func add(_ query: [(String, String?)]) {
    let pairs = query.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }
    if !pairs.isEmpty { text += (text.contains("?") ? "&" : "?") + pairs.joined(separator: "&") }
  }

  /// The same page with more in its query.
  func with(_ query: [(String, String?)]) -> Link {
    var link = self
    link.add(query)
    return link
  }

  /// A page below this one.
  func appending(_ part: String) -> Link {
    var link = self
    link.text += (text.hasSuffix("/") ? "" : "/") + part.percentEncoded
    return link
  }
}

extension String {
  /// The text as a part of an address (RFC 3986): everything but letters, digits and `-._~` as `%` and digits.
  fileprivate var percentEncoded: String {
    var encoded = ""
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }
}
