import BatonBase
import Foundation

/// The text files of the repository, as the rules of `Tidy` read them.
struct Tree {
  struct File {
    /// Relative to the root of the repository.
    var path: String
    var text: String
    var isExecutable = false
    /// The text for `contains`, which searches the whole tree for the name of each page.
    private let bytes: ContiguousArray<CChar>

    init(path: String, text: String, isExecutable: Bool = false) {
      (self.path, self.text, self.isExecutable) = (path, text, isExecutable)
      bytes = text.utf8CString
    }

    func contains(_ part: String) -> Bool { bytes.withUnsafeBufferPointer { strstr($0.baseAddress!, part) != nil } }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    var isSwift: Bool { path.hasSuffix(".swift") }
    /// Its lines may end with an empty column.
    var isTable: Bool { path.hasSuffix(".tsv") || path.hasSuffix(".svg") }
    var isPage: Bool { path.hasSuffix(".md") }
    /// A file that a program writes. Its language and its columns are those of the program's texts.
    var isGenerated: Bool {
      path.contains("/Generated/") || path.hasSuffix("/reasons.md") || path.hasSuffix("/contract.md")
        || path.contains("/Golden/") || path.hasSuffix("JobSchema.swift")
    }
  }

  var files: [File]

  /// The tree of this repository, without what git ignores.
  static let ofThisRepository = Tree(root: URL(filePath: #filePath).appending(path: "../../..").standardized)

  init(files: [File]) { self.files = files }

  private init(root: URL) {
    let ignored: Set = [".build", ".build-protoc", ".git", "results", "LICENSE", "Package.resolved", "__pycache__"]
    let kinds: Set = ["swift", "md", "py", "sh", "yaml", "yml", "c", "h", "proto", "service", "conf", "svg", "tsv", ""]
    var found: [File] = []
    let paths = FileManager.default.enumerator(atPath: root.path) ?? .init()
    while let path = paths.nextObject() as? String {
      let url = root.appending(path: path)
      if ignored.contains(url.lastPathComponent) { paths.skipDescendants() }
      guard paths.fileAttributes?[.type] as? FileAttributeType == .typeRegular,
        !ignored.contains(url.lastPathComponent),
        kinds.contains(url.pathExtension), let text = try? String(contentsOf: url, encoding: .utf8)
      else { continue }
      found.append(File(path: path, text: text, isExecutable: FileManager.default.isExecutableFile(atPath: url.path)))
    }
    files = found.sorted { $0.path < $1.path }
  }
}
