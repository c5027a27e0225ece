import BatonModel

extension DefinitionDecoder {
  /// The secrets of `work`, by name; `nil` if there are none.
  /// - Parameter environment: the field `work.environment`, whose names no secret may have.
  mutating func secrets(_ field: Field?, environment: Field?) -> [String: Secret]? {
    guard let field else { return nil }
    guard case .mapping(let entries) = field.value.content, entries.count <= Definition.Limits.secrets else {
      refuse(
        field, "a mapping of at most \(Definition.Limits.secrets) secrets, such as {DB_PASSWORD: {file: db/password}}")
      return nil
    }
    let known = names(in: environment)
    var owners: [String: String] = [:]
    var secrets: [String: Secret] = [:]
    for entry in entries {
      checkName(of: entry)
      guard let secret = secret(entry) else { continue }
      let variable = secret.variable(for: entry.key)
      if known.contains(entry.key) || known.contains(variable) {
        report.error(
          "\(quoted(entry.key)) is the name of a secret and a name in 'work.environment'; rename one of them",
          at: entry.keyPosition)
      } else if let owner = owners.updateValue(entry.key, forKey: variable) {
        report.error(
          "the secrets \(quoted(owner)) and \(quoted(entry.key)) both set the variable \(quoted(variable)); rename one of "
            + "them", at: entry.keyPosition)
      }
      secrets[entry.key] = secret
    }
    return secrets.isEmpty ? nil : secrets
  }

  private func names(in environment: Field?) -> Set<String> {
    guard case .mapping(let entries)? = environment?.value.content else { return [] }
    return Set(entries.map(\.key))
  }

  private mutating func checkName(of entry: Node.Entry) {
    if let message = EnvironmentName.mistake(in: entry.key) {
      report.error(message, at: entry.keyPosition)
    } else if entry.key.utf8.count > Definition.Limits.secretNameBytes {
      report.error(
        "the name of a secret has at most \(Definition.Limits.secretNameBytes) bytes", at: entry.keyPosition)
    }
  }

  private mutating func secret(_ entry: Node.Entry) -> Secret? {
    let path = "work.secrets.\(quoted(entry.key).dropFirst().dropLast())"
    let field = Field(label: "'\(path)'", keyPosition: entry.keyPosition, value: entry.value)
    guard case .mapping(let entries) = entry.value.content else {
      return refused(
        field, "a mapping such as {file: db/password}", hint: "; a definition names secrets and never has their values")
    }
    var fields = fields(entries, .secret, missingAt: entry.keyPosition)
    for index in fields.inOrder.indices {
      fields.inOrder[index].field.label = "'\(path).\(fields.inOrder[index].key)'"
    }
    let form = fields["as"].flatMap { choice($0, SecretForm.self) }
    guard let file = fields["file"] else {
      report.error(
        "key '\(path).file' is missing; it names a file in the host's folder of secrets", at: fields.position)
      return nil
    }
    guard let name = text(file) else { return nil }
    guard Secret.isFile(name) else { return refused(file, Secret.fileRule) }
    return Secret(file: name, form: form)
  }

  /// Warns about values in `work.environment` whose names say that they are secrets: everybody who may read the
  /// definition or the store would see them.
  mutating func warnAboutLiteralSecrets(_ field: Field?) {
    guard case .mapping(let entries)? = field?.value.content else { return }
    for entry in entries where SecretName.isOne(entry.key) {
      guard case .scalar(let scalar) = entry.value.content, !scalar.text.isEmpty else { continue }
      report.hide(line: entry.keyPosition.line)
      report.warning(
        "\(quoted(entry.key)) looks like a secret, and its value is stored with the job; keep the value in a file of the "
          + "host, and write secrets: {\(entry.key): {file: PATH, as: environment}} in 'work'",
        at: entry.keyPosition)
    }
  }
}

/// Tells by the name of a variable whether its value is likely to be a secret.
enum SecretName {
  private static let words: Set = ["password", "passwd", "passphrase", "token", "secret", "key"]
  /// The last word of a name whose value says where a secret is, or which one it is.
  private static let references: Set = ["file", "path", "folder", "dir", "fd", "id", "name"]

  /// True if a word of the name is `password`, `token`, `secret`, `key` or similar, or the plural of such a word, and
  /// the last word does not say that the value is only a reference. `DB_PASSWORD` and `apiToken` have such a word;
  /// `KEYBOARD` has none, and `SSH_KEY_FILE` is a reference.
  static func isOne(_ name: String) -> Bool {
    let found = words(of: name)
    guard let last = found.last, !references.contains(last) else { return false }
    return found.contains { word in
      words.contains(word) || (word.hasSuffix("s") && words.contains(String(word.dropLast())))
    }
  }

  /// The words of a name in lower case. A word begins after a character that is no letter, at an upper-case letter that
  /// follows a lower-case one (`apiToken`), and at the last upper-case letter before a lower-case one (`APIToken`).
  private static func words(of name: String) -> [String] {
    let letters = Array(name)
    var words = [""]
    for (index, letter) in letters.enumerated() {
      guard letter.isLetter else {
        words.append("")
        continue
      }
      let followsLower = index > 0 && letters[index - 1].isLowercase
      let precedesLower = index + 1 < letters.count && letters[index + 1].isLowercase
      if letter.isUppercase, followsLower || precedesLower { words.append("") }
      words[words.count - 1] += letter.lowercased()
    }
    return words.filter { !$0.isEmpty }
  }
}
