import BatonModel
import BatonSpec
import Foundation

/// The job files in `Corpus/`. Beside each bad file, `NAME.expected` has the whole text of its problems.
///
/// After a message was changed on purpose, `BATON_RECORD=1 swift test --filter BatonSpecTests` writes these texts and
/// `JobSchema.swift` again. Read the difference before you commit it, and run the tests once more, because a changed
/// schema is compiled in only then.
enum Corpus {
  static let isRecording = ProcessInfo.processInfo.environment["BATON_RECORD"] == "1"

  /// The day on which all tests take place: 2026-01-01T00:00:00Z.
  static let now = Timestamp(nanoseconds: 1_767_225_600_000_000_000)

  static let root = folder(of: #filePath)
  static let bad = names(in: "bad")
  static let good = names(in: "good")

  /// The sources of one case under the names of their files: one file, or all files of a folder.
  static func sources(_ name: String, in folder: String) throws -> [Source] {
    let path = "\(root)/Corpus/\(folder)/\(name)"
    var isDirectory: ObjCBool = false
    _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    let files = isDirectory.boolValue ? try FileManager.default.contentsOfDirectory(atPath: path).sorted() : [""]
    return try files.map { file in
      let data = try Data(contentsOf: URL(filePath: file.isEmpty ? path : "\(path)/\(file)"))
      return Source(name: file.isEmpty ? name : file, folder: "/srv/jobs", bytes: Array(data))
    }
  }

  static func read(
    _ name: String, in folder: String, directory: DefaultDirectory = .perLaunch
  ) throws -> Specification {
    let options = SpecificationOptions(now: now, defaultDirectory: directory)
    return Specification(parsing: try sources(name, in: folder), options: options)
  }

  static func folder(of path: String) -> String { URL(filePath: path).deletingLastPathComponent().path }

  private static func names(in folder: String) -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/Corpus/\(folder)")) ?? []
    return files.filter { !$0.hasSuffix(".expected") }.sorted()
  }
}

/// Reads a text of a test as the job file `job.yaml`.
func read(_ text: String, directory: DefaultDirectory = .perLaunch) -> Specification {
  let options = SpecificationOptions(now: Corpus.now, defaultDirectory: directory)
  return Specification(parsing: Source(name: "job.yaml", folder: "/srv/jobs", text: text), options: options)
}
