import BatonModel
import BatonSpec
import Foundation
import Testing

@Suite("Files and folders are read, or reported")
final class FileTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "baton-spec-\(UUID().uuidString)").path

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
  }

  private func read(_ names: String...) -> Specification {
    let options = SpecificationOptions(now: Corpus.now, defaultDirectory: .folderOfFile)
    return Specification(reading: names.map { $0.isEmpty ? folder : "\(folder)/\($0)" }, options: options)
  }

  private func job(_ name: String) -> String { "identifier: com.example.\(name)\nkind: processing\n" }

  @Test("a folder's YAML files are read by name, not those of folders below")
  func folderOfFiles() throws {
    try write(job("b"), to: "b.yml")
    try write(job("a") + "work: {command: [/bin/true]}\n", to: "a.yaml")
    try write("not: yaml for us", to: "notes.txt")
    try FileManager.default.createDirectory(atPath: "\(folder)/below", withIntermediateDirectories: true)
    try write(job("c"), to: "below/c.yaml")
    let specification = read("")
    #expect(
      specification.problems.map(\.headline) == [
        "\(folder):1:1: warning: sub-folders are not searched, and below has job files: give it too"
      ])
    #expect(specification.definitions.map(\.definition.pattern.rawValue) == ["com.example.a", "com.example.b"])
    #expect(specification.definitions.map(\.file) == ["\(folder)/a.yaml", "\(folder)/b.yml"])
    #expect(specification.definitions[0].definition.work?.directory == folder)
  }

  @Test("a missing file is a problem, and the others are read all the same")
  func missing() throws {
    try write(job("a"), to: "a.yaml")
    let specification = read("none.yaml", "a.yaml")
    #expect(
      specification.problems.map(\.headline) == [
        "\(folder)/none.yaml:1:1: error: there is no such file or folder"
      ])
    #expect(specification.definitions.count == 1)
  }

  @Test("a folder without YAML is a problem")
  func noYAML() {
    #expect(read("").problems.map(\.headline) == ["\(folder):1:1: error: the folder has no *.yaml or *.yml file"])
  }

  @Test("a file that may not be read is a problem", .enabled(if: getuid() != 0, "root may read everything"))
  func unreadable() throws {
    try write(job("a"), to: "a.yaml")
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: "\(folder)/a.yaml")
    #expect(
      read("a.yaml").problems.map(\.headline) == [
        "\(folder)/a.yaml:1:1: error: the file cannot be read; look at its permissions"
      ])
  }

  @Test("a pipe or device is refused without reading it")
  func notRegular() {
    let options = SpecificationOptions(now: Corpus.now)
    #expect(
      Specification(reading: ["/dev/null"], options: options).problems.map(\.headline) == [
        "/dev/null:1:1: error: this is not a regular file"
      ])
  }

  @Test("a file of 11 MiB is refused by its size")
  func large() throws {
    try write(String(repeating: "#", count: 11 << 20), to: "large.yaml")
    #expect(
      read("large.yaml").problems.map(\.message) == [
        "the file is larger than 10 MiB; split it, or put long lists of items in a file of their own"
      ])
  }

  @Test("a link to a file is read as that file")
  func link() throws {
    try write(job("a"), to: "a.yaml")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/link.yaml", withDestinationPath: "a.yaml")
    #expect(read("link.yaml").definitions.count == 1)
  }

  @Test("the same file given twice declares its jobs twice")
  func twice() throws {
    try write(job("a"), to: "a.yaml")
    #expect(
      read("a.yaml", "a.yaml").problems.map(\.message) == [
        "'com.example.a' is declared twice; the first is at \(folder)/a.yaml:1:13"
      ])
  }

  @Test("text without a folder takes no relative directory")
  func noFolder() {
    let text = job("a") + "work: {command: [/bin/true], directory: data}\n"
    let options = SpecificationOptions(now: Corpus.now, defaultDirectory: .folderOfFile)
    let specification = Specification(parsing: Source(name: "-", text: text), options: options)
    #expect(
      specification.problems.map(\.headline) == [
        "-:3:41: error: 'work.directory' must be an absolute path: there is no file that it could be relative to"
      ])
  }
}
