import BatonModel

/// Scripts that stand beside the job file, where a launch does not look for them.
extension DefinitionDecoder {
  /// Warns about words of the command that name a file beside the job file, if the command runs in another folder.
  mutating func warnAboutFilesBeside(_ work: Work, _ fields: Fields) {
    guard let hasFile = context.options.hasFile, let folder = context.folder, work.directory != folder,
      let field = fields["command"]
    else { return }
    for (index, word) in work.command.enumerated() where Self.mayBeFile(word, isProgram: index == 0) {
      // A relative program without a directory has a warning already.
      guard index > 0 || !word.contains("/") || work.directory != nil else { continue }
      guard hasFile(joined(folder, word)) else { continue }
      if index == 0, !word.contains("/") {
        report.warning(
          "\(quoted(word)) is beside this file, but a program without '/' is looked for on the PATH of the worker only; "
            + Self.remedy(word, folder, needsFolder: true), at: field.keyPosition)
      } else if !(work.directory.map { hasFile(joined($0, word)) } ?? false) {
        let place = work.directory.map { "in \(quoted($0))" } ?? "in an empty folder of its host"
        report.warning(
          "\(quoted(word)) is beside this file, but the command runs \(place) and does not find it there; "
            + Self.remedy(word, folder), at: field.keyPosition)
      }
    }
  }

  /// Whether a word of a command looks like the relative path of a file.
  private static func mayBeFile(_ word: String, isProgram: Bool) -> Bool {
    guard !word.hasPrefix("/"), !word.hasPrefix("-"), !word.contains("${"), word.count <= 255,
      !word.contains(where: \.isWhitespace), word.contains(where: { $0 != "." && $0 != "/" })
    else { return false }
    return isProgram || word.contains(".") || word.contains("/")
  }

  /// - Parameter needsFolder: whether the word has to say that it is a file.
  private static func remedy(_ word: String, _ folder: String, needsFolder: Bool = false) -> String {
    "put it on every host that runs the job, and write its absolute path, or 'directory: \(folder)'"
      + (needsFolder ? " with \(quoted("./" + word))" : "")
  }
}
