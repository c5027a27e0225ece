#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension Specification {
  /// Reads files, and the `*.yaml` and `*.yml` files of folders in the order of their names, without those of
  /// subfolders. It never throws: a file that cannot be read is a problem at 1:1, and the other files are read all
  /// the same.
  ///
  /// - Parameters:
  ///   - paths: the paths as the user wrote them. Problems name the files in the same way. `-` stands for `input`.
  ///   - input: reads standard input to its end, and the folder to which its directories are relative; if it is nil,
  ///     `-` is a file like any other.
  package init(
    reading paths: [String], input: (read: () -> [UInt8]?, folder: String)? = nil, options: SpecificationOptions
  ) {
    var sources: [Source] = []
    var unreadable: [Problem] = []
    for path in paths {
      do throws(Problem) {
        if path == "-", let input {
          guard let bytes = input.read() else { throw Problem(file: Self.inputName, message: "it cannot be read") }
          sources.append(Source(name: Self.inputName, folder: input.folder, bytes: bytes))
          continue
        }
        for file in try Self.files(at: path) { sources.append(try Self.source(file)) }
        if let skipped = Self.skippedFolders(of: path) { unreadable.append(skipped) }
      } catch {
        unreadable.append(error)
      }
    }
    self.init(sources: sources, unreadable: unreadable, options: options)
  }

  /// How messages name standard input.
  private static let inputName = "standard input"

  /// A warning about sub-folders that have job files, which are not read; nil if `path` is no folder, or has none.
  private static func skippedFolders(of path: String) -> Problem? {
    let manager = FileManager.default
    let folders = ((try? manager.contentsOfDirectory(atPath: path)) ?? []).sorted().filter { name in
      let names = try? manager.contentsOfDirectory(atPath: "\(path)/\(name)")
      return names?.contains { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") } ?? false
    }
    guard !folders.isEmpty else { return nil }
    let shown = folders.prefix(3).joined(separator: ", ") + (folders.count > 3 ? " and \(folders.count - 3) more" : "")
    let advice = folders.count == 1 ? "has job files: give it too" : "have job files: give them too"
    return Problem(
      file: path, severity: .warning, message: "sub-folders are not searched, and \(shown) \(advice)")
  }

  /// The files for which `path` stands: the path itself, or the YAML files of a folder by name.
  private static func files(at path: String) throws(Problem) -> [String] {
    var isDirectory = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw Problem(file: path, message: "there is no such file or folder")
    }
    guard isDirectory else { return [path] }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw Problem(file: path, message: "the folder cannot be read; look at its permissions")
    }
    let files = names.filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") }.sorted()
    guard !files.isEmpty else { throw Problem(file: path, message: "the folder has no *.yaml or *.yml file") }
    return files.map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" }
  }

  private static func source(_ path: String) throws(Problem) -> Source {
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    let attributes = try? FileManager.default.attributesOfItem(atPath: target)
    // Type and size are checked first, so that a huge file is not read only to be refused, and the command does not
    // wait for a pipe.
    guard attributes?[.type] as? FileAttributeType == .typeRegular else {
      throw Problem(file: path, message: "this is not a regular file")
    }
    if let size = attributes?[.size] as? Int, size > Limits.sourceBytes {
      throw Problem(file: path, message: SourceText.tooLarge)
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Problem(file: path, message: "the file cannot be read; look at its permissions")
    }
    return Source(name: path, folder: folder(of: path), bytes: Array(data))
  }

  private static func folder(of path: String) -> String {
    let current = FileManager.default.currentDirectoryPath
    let absolute = path.hasPrefix("/") ? path : "\(current == "/" ? "" : current)/\(path)"
    let parts = absolute.split(separator: "/").dropLast().filter { $0 != "." }
    return "/" + parts.joined(separator: "/")
  }
}
