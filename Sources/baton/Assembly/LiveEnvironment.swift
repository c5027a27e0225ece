import BatonBase
import BatonCommands
import BatonModel
import BatonWire
import SystemPackage
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension CommandEnvironment {
  /// The environment of the commands in a real process: its terminal, clock, user and variables.
  static func live() -> CommandEnvironment {
    let variables = ProcessInfo.processInfo.environment
    return CommandEnvironment(
      backend: LiveBackend(environment: variables), now: { SystemClocks.date() }, write: Terminal.write,
      isTerminal: { isatty($0.descriptor) == 1 }, terminalSize: Terminal.size, variables: variables,
      currentDirectory: FileManager.default.currentDirectoryPath, user: Terminal.userName(variables),
      interrupted: Terminal.interrupted, sleep: { try await Task.sleep(for: $0, clock: .continuous) },
      readAnswer: Terminal.readAnswer, readSecret: Terminal.readSecret,
      readInput: Terminal.readInput, openBrowser: { Browser(variables).open($0) },
      drawSubmissionID: { UUID().uuidString.lowercased() }
    )
  }
}

extension CommandEnvironment.Stream {
  fileprivate var descriptor: Int32 { self == .output ? STDOUT_FILENO : STDERR_FILENO }
}

/// The terminal of this process, and the signals that people send from it.
enum Terminal {
  static func write(_ stream: CommandEnvironment.Stream, _ bytes: [UInt8]) {
    let file: FileDescriptor = stream == .output ? .standardOutput : .standardError
    do {
      try file.writeAll(bytes)
    } catch Errno.brokenPipe {
      // The reader of the pipe has closed it. This is not an error.
      exit(128 + SIGPIPE)
    } catch {
      if stream == .output { StandardError.say("baton: standard output cannot be written: \(error)") }
      exit(74)
    }
  }

  /// Reads a line that a person types; `nil` if standard input is not a terminal.
  static var readAnswer: (@Sendable () -> String?)? {
    guard isatty(STDIN_FILENO) == 1 else { return nil }
    return { readLine() }
  }

  /// Reads a line that the terminal does not show.
  @Sendable static func readSecret(_ prompt: String) -> String? {
    guard isatty(STDIN_FILENO) == 1 else { return readLine() }
    StandardError.write(prompt)
    var before = termios()
    tcgetattr(STDIN_FILENO, &before)
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    defer {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
      StandardError.write("\n")
    }
    return readLine()
  }

  /// No text that a command reads may be so large.
  private static let largestInput = 16 << 20

  /// Reads standard input to its end, or until it is larger than anything that is accepted; `nil` if it cannot be read.
  @Sendable static func readInput() -> [UInt8]? {
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
    while bytes.count <= largestInput {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    return bytes
  }

  static func size() -> CommandEnvironment.TerminalSize? {
    var window = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else { return nil }
    return CommandEnvironment.TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  static func userName(_ variables: [String: String]) -> String {
    if let entry = getpwuid(getuid()), let name = entry.pointee.pw_name { return String(cString: name) }
    return variables["USER"] ?? "uid \(getuid())"
  }

  /// Returns at the first SIGINT or SIGTERM. Afterwards the signal has its default action again, so the second one ends
  /// the process.
  @Sendable static func interrupted() async {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    for await received in signals {
      signal(received == .sigint ? SIGINT : SIGTERM, SIG_DFL)
      return
    }
  }
}
