import BatonBase
import BatonModel
import BatonProcess
import CBatonProcess

/// The lines of a regular UTF-8 file, without their line ends (LF or CR LF). Empty lines are not items.
///
/// Only a regular file is opened, because a named pipe or a device could hold up the worker beyond every deadline. A
/// symbolic link to a regular file is followed if it belongs to root or to the worker's user. A link of another user
/// could lead to a file that only the worker may read.
struct LineListing: ItemListing {
  private let path: String
  private let host: HostName
  private let file: OpenFile
  private var buffer = LineBuffer(limit: ItemText.maximumBytes + 2)
  private var number = 0
  private var isAtEnd = false

  /// - Parameters:
  ///   - file: the path of the file, relative to `directory` or absolute.
  ///   - directory: the working directory of the command.
  ///   - fence: what the command is fenced in with. The worker reads no file for a command that the command itself
  ///     could not read.
  /// - Throws: `CommandError` with the code `.badItems` if the file cannot be opened.
  init(file: String, directory: String, host: HostName, fence: Fence? = nil) throws {
    path = file.hasPrefix("/") ? file : directory + "/" + file
    self.host = host
    var mode: UInt32 = 0
    let descriptor = baton_open_regular(path, &mode)
    guard descriptor >= 0 else {
      throw CommandError(
        .badItems,
        "the items cannot be read on \(host): \(Self.problem(descriptor, path, mode)); 'lines' names a regular file "
          + "relative to the working directory \(directory)")
    }
    self.file = OpenFile(descriptor)
    if let fence, SystemCall.realPath(of: self.file).map(fence.hides) ?? true {
      throw CommandError(.badItems, "the items cannot be read on \(host): \(path) is hidden from commands")
    }
  }

  private static func problem(_ result: Int32, _ path: String, _ mode: UInt32) -> String {
    switch result {
    case BATON_NOT_REGULAR: "\(path) is \(kind(mode_t(mode)))"
    case BATON_FOREIGN_LINK: "\(path) is, or leads to, a symbolic link of another user"
    default: "\(SystemCall.failure("cannot open", path))"
    }
  }

  private static func kind(_ mode: mode_t) -> String {
    switch mode & S_IFMT {
    case S_IFIFO: "a named pipe"
    case S_IFSOCK: "a socket"
    case S_IFDIR: "a folder"
    case S_IFCHR, S_IFBLK: "a device"
    default: "no regular file"
    }
  }

  mutating func next() throws -> String? {
    while let line = try nextLine() {
      number += 1
      if line.isEmpty { continue }
      guard let item = String(validating: line, as: UTF8.self) else {
        throw problem(number, "is not UTF-8")
      }
      try ItemText.check(item, passedAs: .file)
      return item
    }
    return nil
  }

  private mutating func nextLine() throws -> [UInt8]? {
    while true {
      if let line = buffer.next() { return line.last == UInt8(ascii: "\r") ? line.dropLast() : line }
      if isAtEnd { return buffer.takeRest() }
      guard let chunk = SystemCall.read(file.descriptor, limit: 64 << 10) else {
        throw CommandError(.badItems, "\(SystemCall.failure("cannot read", path)) on \(host)")
      }
      isAtEnd = chunk.isEmpty
      if !buffer.append(chunk) { throw problem(number + 1, "is longer than \(ItemText.maximumBytes) bytes") }
    }
  }

  private func problem(_ line: Int, _ what: String) -> CommandError {
    CommandError(.badItems, "line \(line) of \(path) on \(host) \(what), so it cannot be an item: correct the file")
  }
}
