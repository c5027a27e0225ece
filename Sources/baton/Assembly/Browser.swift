#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The browser of the person who runs a command.
struct Browser {
  private let variables: [String: String]

  init(_ variables: [String: String]) { self.variables = variables }

  /// Opens an address that contains a secret. The arguments of a process can be read by every user of a machine, so the
  /// browser gets the path of a page that only this user can read, and that goes on to the address.
  /// - Returns: false if there is no browser to start.
  func open(_ address: String) -> Bool {
    guard let program = opener, let page = page(goingTo: address) else { return false }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(page), nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    return posix_spawnp(&process, program, &actions, nil, arguments, environ) == 0
  }

  /// The program that opens a page; `nil` if there is no screen to show it on.
  private var opener: String? {
    #if os(macOS)
      return "open"
    #else
      guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { !(variables[$0] ?? "").isEmpty }) else { return nil }
      return "xdg-open"
    #endif
  }

  private func page(goingTo address: String) -> String? {
    let parent = variables["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? variables["TMPDIR"] ?? "/tmp"
    var template = Array((parent + "/baton-console-XXXXXX").utf8CString)
    // mkdtemp makes a folder that only this user can open.
    guard let folder = mkdtemp(&template).map({ String(cString: $0) }) else { return nil }
    let text = """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>Baton</title>
      <meta http-equiv="refresh" content="0; url=\(address)"></head>
      <body><p><a href="\(address)">To the console</a></p></body></html>

      """
    let path = folder + "/console.html"
    guard (try? Data(text.utf8).write(to: URL(fileURLWithPath: path))) != nil else { return nil }
    return path
  }
}
