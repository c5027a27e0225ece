/// A secret that a command gets, such as a password. A definition names the file of the secret and never has its value:
/// the worker reads the file on its own host at each launch.
package struct Secret: Hashable, Sendable, Codable {
  /// The file of the secret, relative to the folder in which the host's owner keeps secrets, such as `db/password`.
  package var file: String
  /// How the command gets the value; `nil` means `.descriptor`.
  package var form: SecretForm?

  package init(file: String, form: SecretForm? = nil) {
    self.file = file
    self.form = form
  }

  private enum CodingKeys: String, CodingKey {
    case file
    case form = "as"
  }

  /// The environment variable that the worker sets for the secret `name`: the variable `name` itself has the value, or
  /// `name` with `_FD` after it has the number of the descriptor.
  package func variable(for name: String) -> String {
    switch form ?? .descriptor {
    case .descriptor: name + "_FD"
    case .environment: name
    }
  }

  /// True if `file` can be the file of a secret: a relative path of 1 to 200 ASCII letters, digits, `.`, `_`, `-` and
  /// `/`, in which no name is empty, `.` or `..`.
  package static func isFile(_ file: String) -> Bool {
    guard (1...maximumFileBytes).contains(file.utf8.count), file.utf8.allSatisfy(isAllowed) else { return false }
    return file.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !["", ".", ".."].contains($0) }
  }

  package static let maximumFileBytes = 200
  /// The rule that `isFile` checks, in words for people.
  package static let fileRule =
    "a relative path such as db/password: at most 200 letters, digits, '.', '_', '-' and '/', without '..'"

  static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "/"):
      true
    default: false
    }
  }
}

/// How a command gets the value of a secret.
package enum SecretForm: String, Sendable, Codable, CaseIterable {
  /// As a file without a name that only this process and its children have open. `NAME_FD` has the number of its
  /// descriptor.
  case descriptor
  /// As the environment variable `NAME`.
  case environment
}

extension Work {
  /// The secrets in the order of their names.
  package var sortedSecrets: [(name: String, secret: Secret)] {
    (secrets ?? [:]).sorted { $0.key < $1.key }.map { (name: $0.key, secret: $0.value) }
  }
}

/// Which definitions may use which secrets of a host. The host's owner decides it.
public struct SecretPermission: Hashable, Sendable, Codable {
  /// The files of the secrets.
  public var files: SecretPattern
  /// The identifiers of the definitions; a wildcard stands for every identifier below it.
  public var identifiers: [IdentifierPattern]

  /// Permits `files` to the definitions of `identifiers`.
  public init(files: SecretPattern, identifiers: [IdentifierPattern]) {
    self.files = files
    self.identifiers = identifiers
  }

  /// Whether every request of the definition `pattern` may use the secret `file`.
  package func permits(_ file: String, to pattern: IdentifierPattern) -> Bool {
    files.matches(file) && identifiers.contains { $0.covers(pattern) }
  }
}

/// A glob for the files of secrets, such as `db/password` or `db/*`. In a name, `*` stands for any characters and `?`
/// for one; the name `**` stands for any number of names, including none.
public struct SecretPattern: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The text of the pattern.
  public let rawValue: String

  /// Checks `text` and makes it a pattern; `nil` if no file of a secret could match, for example because the text is an
  /// absolute path.
  public init?(_ text: String) {
    guard (1...Secret.maximumFileBytes).contains(text.utf8.count),
      text.utf8.allSatisfy({ Secret.isAllowed($0) || $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }),
      text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !["", ".", ".."].contains($0) })
    else { return nil }
    rawValue = text
  }

  /// The text of the pattern.
  public var description: String { rawValue }

  package func matches(_ file: String) -> Bool { PathPattern("/" + rawValue)?.matches("/" + file) ?? false }
}
