package import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The small files of a simulated machine, in a temporary folder: what its `/sys` and `/proc` contain.
package struct MachineFolder: Sendable {
  /// Paths below the root, such as `sys/class/power_supply/AC/online`, and what the files contain.
  package typealias Files = [String: String]

  /// Stands for a file that exists and cannot be read, not even by root: a symbolic link to itself.
  package static let unreadable = "\u{0}unreadable"
  /// Stands for an empty folder in place of a file.
  package static let folder = "\u{0}folder"
  /// The system's error message for an unreadable file.
  package static let refusal = "Too many levels of symbolic links"

  package let path: String
  package var root: SystemRoot { SystemRoot(path) }

  /// Makes the machine's files, hands the folder to `body`, and removes it afterwards.
  package static func with<Result>(_ files: Files = [:], _ body: (MachineFolder) throws -> Result) throws -> Result {
    let folder = try MachineFolder(files)
    defer { folder.removeAll() }
    return try body(folder)
  }

  package static func with<Result>(
    _ files: Files = [:], isolation: isolated (any Actor)? = #isolation,
    _ body: (MachineFolder) async throws -> Result
  ) async throws -> Result {
    let folder = try MachineFolder(files)
    defer { folder.removeAll() }
    return try await body(folder)
  }

  private init(_ files: Files) throws {
    path = FileManager.default.temporaryDirectory.path + "/baton-machine-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (file, contents) in files { try write(contents, to: file) }
  }

  /// Makes or replaces a file, with the folders above it. A line break is added at the end of the contents, as the
  /// kernel does, unless they are empty.
  package func write(_ contents: String, to file: String) throws {
    let place = path + "/" + file
    try? FileManager.default.removeItem(atPath: place)
    let above = place.split(separator: "/").dropLast().joined(separator: "/")
    try FileManager.default.createDirectory(atPath: "/" + above, withIntermediateDirectories: true)
    switch contents {
    case Self.unreadable: try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: place)
    case Self.folder: try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    default: try Data((contents.isEmpty ? "" : contents + "\n").utf8).write(to: URL(filePath: place))
    }
  }

  /// Removes a file, or a folder with everything in it.
  package func remove(_ file: String) { try? FileManager.default.removeItem(atPath: path + "/" + file) }

  private func removeAll() { try? FileManager.default.removeItem(atPath: path) }
}
