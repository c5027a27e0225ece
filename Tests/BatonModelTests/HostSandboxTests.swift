import Testing

@testable import BatonModel

@Suite("What a host allows, and how it fences commands in") struct HostSandboxTests {
  private func job(_ work: Work?, network: NetworkRequirement? = nil) -> Definition {
    var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: .continued)
    definition.work = work
    definition.requirements.network = network
    return definition
  }

  private func obstacles(
    _ definition: Definition, _ sandbox: HostSandbox?, _ permissions: CommandPermissions? = nil
  )
    -> [Obstacle]
  {
    let able = Capabilities(
      slots: 1, handlers: [IdentifierPattern("com.example.a")!], sandbox: sandbox, permissions: permissions)
    return Policy.obstacles(for: definition, on: Host(name: HostName("a"), capabilities: able, conditions: .assumed))
  }

  @Test(
    "a command runs with the higher one of what its job and its host demand, or it meets an obstacle",
    arguments: [
      (nil, nil, nil, true), (nil, nil, SandboxLevel.basic, true), (nil, .basic, nil, false),
      (nil, .basic, .basic, true), (.basic, nil, nil, false), (.basic, nil, .basic, true),
    ] as [(SandboxLevel?, SandboxLevel?, SandboxLevel?, Bool)])
  func levels(asked: SandboxLevel?, required: SandboxLevel?, available: SandboxLevel?, runs: Bool) {
    let why = "the kernel has no Landlock"
    let sandbox = HostSandbox(required: required, available: available, problem: available == nil ? why : "")
    let expected = runs ? [] : [Obstacle.sandboxUnavailable(.basic, why: why)]
    #expect(obstacles(job(Work(command: ["a"], sandbox: asked)), sandbox) == expected)
    #expect(obstacles(job(nil), sandbox).isEmpty, "a handler is no command")
  }

  @Test("a worker that does not know of the sandbox takes commands that ask for none, and no others")
  func older() {
    #expect(obstacles(job(Work(command: ["a"])), nil).isEmpty)
    #expect(obstacles(job(Work(command: ["a"], sandbox: .basic)), nil).map(\.kind) == [.sandboxUnavailable])
  }

  @Test("the reason, and what the owner can do, are in the text")
  func text() {
    let obstacle = Obstacle.sandboxUnavailable(.basic, why: "the kernel has no Landlock")
    #expect(
      obstacle.text
        == "its command has to run in the sandbox 'basic', and the host cannot give it: the kernel has no Landlock")
    #expect(obstacle.remedy.contains("sandbox.require: none"))
    #expect(obstacle.isPermanent)
    #expect(Obstacle.notPermittedOnHost(.network).remedy.contains("'allow.network'"))
  }

  @Test("each thing that the owner does not allow is an obstacle of its own")
  func vetoes() {
    let permissions = CommandPermissions(
      commands: [PathPattern("/usr/bin/ffmpeg")!, PathPattern("/opt/jobs/**")!],
      directories: [PathPattern("/srv/**")!], network: false)
    func vetoes(_ work: Work?, network: NetworkRequirement? = nil) -> [Obstacle] {
      obstacles(job(work, network: network), nil, permissions)
    }
    #expect(vetoes(Work(command: ["/usr/bin/ffmpeg"], directory: "/srv/photos")).isEmpty)
    #expect(vetoes(Work(command: ["/bin/sh"])) == [.notPermittedOnHost(.command("/bin/sh"))])
    #expect(vetoes(Work(command: ["/opt/jobs/a"], directory: "/etc")) == [.notPermittedOnHost(.directory("/etc"))])
    #expect(vetoes(Work(command: ["/opt/jobs/a"]), network: .any) == [.notPermittedOnHost(.network)])
    #expect(vetoes(Work(command: ["ffmpeg"])).isEmpty, "only the host knows where it is")
    #expect(vetoes(nil, network: .any).isEmpty, "a handler is no command")
    let root = CommandPermissions(runsCommands: false)
    #expect(obstacles(job(Work(command: ["a"])), nil, root) == [.notPermittedOnHost(.root)])
  }

  @Test(
    "a pattern of paths",
    arguments: [
      ("/a/b", "/a/b", true), ("/a/b", "/a/bc", false), ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false),
      ("/a/**", "/a/b/c", true), ("/a/**", "/a", true), ("/a/**", "/ab", false), ("/a/**/z", "/a/z", true),
      ("/a/**/z", "/a/b/c/z", true), ("/a/**/z", "/a/b/c/y", false), ("/a/*.sh", "/a/x.sh", true),
      ("/a/*.sh", "/a/x.shy", false), ("/a/?", "/a/é", true), ("/**/b/**/d", "/a/b/c/b/d", true), ("/**", "/", true),
      ("/a*b*c", "/aXbYbZc", true), ("/a*b*c", "/aXbYbZ", false),
    ])
  func patterns(pattern: String, path: String, matches: Bool) {
    #expect(PathPattern(pattern)?.matches(path) == matches)
  }

  @Test("a pattern is absolute and has no way up", arguments: ["a/b", "", "/a/../b", "/./a"])
  func wrong(pattern: String) { #expect(PathPattern(pattern) == nil) }
}
