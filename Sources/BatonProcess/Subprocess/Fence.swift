import BatonBase
package import BatonModel

/// What `baton-exec` has to do to itself before it becomes a command. A fence that cannot be applied keeps the command
/// from running.
package struct Fence: Hashable, Sendable {
  /// The path of `baton-exec`.
  package var helper: String
  /// `nil` fences nothing off but the network.
  package var level: SandboxLevel?
  /// The files and folders that the command must not open, except what is in its own folder. One that does not exist is
  /// ignored.
  package var hidden: [String]
  /// The launch's own folder.
  package var kept: String
  /// What else the command may write to in the sandbox `strict`. A path that does not exist is ignored.
  package var writable: [String]
  package var forbidsNetwork: Bool
  /// Whether the command gets a network of its own, which is empty. Only `strict` can do that.
  package var separatesNetwork: Bool
  /// The user to become; `nil` means that the command keeps the worker's user. It needs a level of the sandbox.
  package var user: CommandUser?
  /// The real paths of the program and of the working directory, if the host's owner limits them. Exactly these are
  /// used, or nothing runs.
  package var program: String?
  package var directory: String?
  /// Whether the command leaves no core dumps. Every level of the sandbox forbids them too.
  package var forbidsCores: Bool

  package init(
    helper: String, level: SandboxLevel?, hidden: [String] = [], kept: String, writable: [String] = [],
    forbidsNetwork: Bool = false, separatesNetwork: Bool = false, user: CommandUser? = nil, program: String? = nil,
    directory: String? = nil, forbidsCores: Bool = false
  ) {
    self.writable = writable
    self.separatesNetwork = separatesNetwork
    self.user = user
    self.helper = helper
    self.level = level
    self.hidden = hidden
    self.kept = kept
    self.forbidsNetwork = forbidsNetwork
    self.program = program
    self.directory = directory
    self.forbidsCores = forbidsCores
  }

  /// The name of the program, which is installed beside the programs that use it.
  package static let helperName = "baton-exec"

  /// The path of the `baton-exec` beside this program; `nil` if the system does not tell where this program is.
  package static var besideThisProgram: String? {
    guard let program = SystemCall.link(at: "/proc/self/exe"), let slash = program.lastIndex(of: "/") else {
      return nil
    }
    return program[...slash] + helperName
  }

  /// The options of `baton-exec` for this fence.
  var options: [String] {
    var words: [String] = []
    switch level {
    case .basic: words.append("--fence")
    case .strict:
      words += ["--fence", "--isolate"] + (separatesNetwork ? ["--own-network"] : [])
      words += writable.flatMap { ["--write", $0] }
    case nil: break
    }
    if let user { words += ["--user", user.word] }
    if level != nil { words += hidden.flatMap { ["--hide", $0] } + ["--keep", kept] }
    if forbidsNetwork { words.append("--no-network") }
    if forbidsCores { words.append("--no-core") }
    if let program = self.program { words += ["--exactly", program] }
    if let directory { words += ["--inside", directory] }
    return words
  }

  /// Whether the command must not read this file. The worker asks before it reads a file in the command's place.
  package func hides(_ file: String) -> Bool {
    func contains(_ folder: String) -> Bool {
      guard let real = try? SystemCall.absolutePath(of: folder) else { return false }
      return file == real || file.hasPrefix(real == "/" ? real : real + "/")
    }
    return level != nil && !contains(kept) && hidden.contains(where: contains)
  }
}

extension SystemCall {
  /// The path of an open file; `nil` if the system does not tell.
  package static func realPath(of file: OpenFile) -> String? { path(of: file.descriptor) }

  /// The path without symbolic links; `nil` if the file does not exist.
  package static func realPath(of path: String) -> String? { try? absolutePath(of: path) }

  /// The target of a symbolic link; `nil` if there is none.
  fileprivate static func link(at path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
